"""`weir status --watch`: a table that is redrawn on a terminal, blocks or JSON lines elsewhere, and how it ends."""
import json
import os
import pty
import re
import select
import signal
import subprocess

import harness


class WatchTest(harness.ClusterTest):
    def job(self, max_steps=1000000, **flags):
        """A running job with its own port: (roles, the chief's address)."""
        spec = harness.cluster_of()
        roles = self.start_cluster(spec, *self.flags(max_steps=max_steps, batch_size=16, end_linger=5, **flags))
        return roles, spec["chief"][0]

    def watch(self, address, *flags):
        return self.start("watch", "status", "--chief", address, "--watch", *flags)

    def wait_for_step(self, process):
        harness.wait_for(lambda: re.search(r"training: step [1-9]|\"global_step\":[1-9]", process.text()), 60, "a step is shown")

    def test_json_lines_until_the_end(self):
        roles, address = self.job(max_steps=1500)  # a few seconds on a fast machine: a dozen looks
        roles["worker 0"].wait_for_line("path to ps 0", 30)
        watch = self.watch(address, "0.1", "--json")
        self.assertEqual(watch.wait(200), 0, watch.text())
        self.assert_exit(roles.values(), 0, 30)
        looks = [json.loads(line) for line in watch.text().splitlines()]
        steps = [look["global_step"] for look in looks]
        self.assertEqual(steps, sorted(steps))
        self.assertGreater(len(set(steps)), 2)
        self.assertNotIn(looks[-1]["phase"], ("waiting for members", "training"))
        self.assertEqual(sorted(m["role"] for m in looks[-1]["members"]), ["chief", "ps", "worker"])
        self.assertTrue(any(look["eta_seconds"] is not None for look in looks), looks[-1])

    def test_plain_blocks_where_there_is_no_terminal(self):
        roles, address = self.job()
        roles["worker 0"].wait_for_line("path to ps 0", 30)
        watch = self.watch(address, "0.3")
        self.wait_for_step(watch)
        harness.wait_for(lambda: watch.text().count("role ") > 2, 20, "three blocks")
        self.assertNotIn("\x1b", watch.text())
        self.assertRegex(watch.text(), r"\n  worker +0  joined +\d+  127\.0\.0\.1:\d+ ")
        self.assertRegex(watch.text(), r"\n  from -> to +path\n  worker 0 -> ps 0 +\w")
        watch.signal(signal.SIGINT)
        self.assertEqual(watch.wait(5), 130)

    def test_says_that_the_chief_disappeared(self):
        roles, address = self.job(lease=2)
        roles["worker 0"].wait_for_line("path to ps 0", 30)  # a chief that is not there yet would end the watch
        watch = self.watch(address, "0.3")
        self.wait_for_step(watch)
        roles["chief 0"].signal(signal.SIGKILL)
        self.assertEqual(watch.wait(15), 4, watch.text())
        page = watch.text()[watch.text().index("weir: "):]
        self.assertRegex(page, rf"weir: the chief at {address} disappeared in the middle of the job \(training, step \d+ of 1000000\)")
        self.assertLessEqual(len(page.splitlines()), 5)

    def test_a_chief_that_is_not_there(self):
        address = harness.free_ports(1)[0]
        self.assertIn(address, self.refused(1, "status", "--chief", address, "--watch"))

    def test_a_terminal_is_left_without_a_trace(self):
        roles, address = self.job()
        roles["worker 0"].wait_for_line("path to ps 0", 30)
        controller, terminal = pty.openpty()
        before = subprocess.run(["stty", "-g"], stdin=terminal, capture_output=True, text=True).stdout
        process = subprocess.Popen([harness.WEIR, "status", "--chief", address, "--watch", "0.2"], stdin=terminal, stdout=terminal,
                                   stderr=terminal, start_new_session=True)
        self.addCleanup(process.kill)
        os.close(terminal)
        shown = b""
        while shown.count(b"role ") < 3:
            self.assertTrue(select.select([controller], [], [], 20)[0], shown)
            shown += os.read(controller, 65536)
        self.assertNotEqual(before, self.stty(controller), "echo is off while it draws")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(5), 130)
        screen = Screen()
        while True:
            try:
                piece = os.read(controller, 65536)
            except OSError:  # nobody has the terminal any more
                break
            shown += piece
        screen.write(shown.decode())
        self.assertEqual(screen.lines, [""])
        self.assertTrue(screen.cursor)
        self.assertEqual(self.stty(controller), before)
        os.close(controller)

    def stty(self, controller):
        return subprocess.run(["stty", "-g"], stdin=controller, capture_output=True, text=True).stdout


class Screen:
    """As much of a terminal as is needed: lines, up, clear to the end, the cursor shown or not."""

    def __init__(self):
        self.lines, self.row, self.cursor = [""], 0, True

    def write(self, text):
        for escape, up, plain in re.findall(r"(\x1b\[(?:(\d+)A|J|\?25[lh]))|([^\x1b])", text):
            if up:
                self.row = max(0, self.row - int(up))
            elif escape == "\x1b[J":
                self.lines = self.lines[:self.row] + [""]
            elif escape:
                self.cursor = escape.endswith("h")
            elif plain == "\n":
                self.row += 1
                if self.row == len(self.lines):
                    self.lines.append("")
            elif plain != "\r":
                self.lines[self.row] += plain


if __name__ == "__main__":
    harness.main()
