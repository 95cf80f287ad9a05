"""`weir local` where little is to be had: one core, no shared memory, no privileges, a folder that cannot be written to."""
import json
import os
import shutil
import subprocess

import harness

NOBODY = 65534


class SurroundingsTest(harness.ClusterTest):
    def run_local(self, code, *flags, before=(), cwd=None, seconds=90):
        """`BEFORE... weir local FLAGS` to its end; its output."""
        command = [*before, harness.WEIR, "local", *flags]
        if cwd is not None:
            command = ["env", "-C", str(cwd), *command]
        process = harness.Process("local", command, self.folder)
        self.processes.append(process)
        self.assertEqual(process.wait(seconds), code, process.text()[-3000:])
        return process.text()

    def small(self, **overrides):
        return self.flags(max_steps=20, batch_size=16, **overrides)

    def assert_trained(self, summary):
        s = json.loads(summary.read_text())
        self.assertEqual((s["global_step"], s["pushes"]["lost"]), (20, 0))
        self.assertTrue(all(m["exit_code"] == 0 for m in s["members"]), s["members"])

    def test_on_one_core(self):
        if shutil.which("taskset") is None:
            self.skipTest("needs taskset")
        core = str(min(os.sched_getaffinity(0)))
        summary = self.folder / "summary.json"
        self.run_local(0, *self.small(), "--ps", "2", "--workers", "2", "--summary", summary, before=("taskset", "-c", core))
        self.assert_trained(summary)

    def without_shared_memory(self, code, *flags):
        script = 'mount -t tmpfs -o size=64k tmpfs /dev/shm && head -c 64k /dev/zero > /dev/shm/full; exec "$@"'
        probe = ["unshare", "-m", "sh", "-c", "mount -t tmpfs tmpfs /dev/shm"]
        if os.geteuid() != 0 or subprocess.run(probe, capture_output=True).returncode != 0:
            self.skipTest("needs root and mount namespaces")
        return self.run_local(code, *flags, before=("unshare", "-m", "sh", "-c", script, "sh"))

    def test_tcp_needs_no_shared_memory(self):
        summary = self.folder / "summary.json"
        self.without_shared_memory(0, *self.small(transport="tcp"), "--summary", summary)
        self.assert_trained(summary)

    def test_shm_without_shared_memory_is_refused_by_name(self):
        text = self.without_shared_memory(2, *self.small(transport="shm"))
        page = text[text.index("weir: "):]
        self.assertIn("/dev/shm has 0.0 MiB free, and 2 processes need 12 MiB", page)
        self.assertIn("--transport tcp", page)
        self.assertLessEqual(len(page.splitlines()), 5)

    def with_small_segments(self, code, limit, *flags):
        """In an IPC namespace whose kernel.shmmax is `limit` bytes."""
        script = f'echo {limit} > /proc/sys/kernel/shmmax && exec "$@"'
        probe = ["unshare", "-i", "sh", "-c", script, "sh", "true"]
        if os.geteuid() != 0 or subprocess.run(probe, capture_output=True).returncode != 0:
            self.skipTest("needs root and IPC namespaces with limits of their own")
        return self.run_local(code, *flags, before=("unshare", "-i", "sh", "-c", script, "sh"))

    def test_auto_goes_by_message_where_weights_find_no_segment(self):
        # Of one page, a worker's sample fits; of less, nothing does.
        for limit in (4096, 64):
            summary = self.folder / f"summary_{limit}.json"
            flags = self.small(model_dir=self.folder / f"model_{limit}")
            text = self.with_small_segments(0, limit, *flags, "--summary", summary)
            self.assert_trained(summary)
            self.assertIn("worker 0 -> ps 0: message (ucx tcp/lo), not mapped: the memory of ps 0 cannot be mapped: ps 0 has none to share", text)
            self.assertIn("more than kernel.shmmax", text)

    def test_shm_whose_weights_find_no_segment_is_refused_by_name(self):
        # UCX's own segments fit into the larger.
        for limit in (65536, 4096):
            text = self.with_small_segments(2, limit, *self.small(transport="shm"))
            self.assertIn("kernel.shmmax", text[text.index("weir: "):])

    def test_without_privileges(self):
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("needs root, to give it up, and setpriv")
        os.chmod(self.folder, 0o755)
        own = self.folder / "own"
        own.mkdir()
        os.chown(own, NOBODY, NOBODY)
        lose_all = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all", "--no-new-privs")
        if subprocess.run([*lose_all, harness.WEIR, "version"], capture_output=True).returncode != 0:
            self.skipTest(f"{harness.WEIR} is out of reach for nobody")
        summary = own / "summary.json"
        self.run_local(0, *self.small(model_dir=own / "model"), "--summary", summary, before=lose_all)
        self.assert_trained(summary)
        self.assertEqual(summary.stat().st_uid, NOBODY)

    def test_in_a_folder_that_cannot_be_written_to(self):
        if os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            self.skipTest("needs mount namespaces: root writes everywhere else")
        folder = self.folder / "read-only"
        folder.mkdir()
        before = ()
        if os.geteuid() == 0:  # permissions do not hold root back
            script = f'mount -t tmpfs -o ro tmpfs {folder} && cd {folder} && ! touch x 2>/dev/null && exec "$@"'
            before = ("unshare", "-m", "sh", "-c", script, "sh")
        else:
            folder.chmod(0o555)
        summary = self.folder / "summary.json"
        self.run_local(0, *self.small(), "--summary", summary, before=before, cwd=folder)
        self.assert_trained(summary)


if __name__ == "__main__":
    harness.main()
