"""Processes with nothing to do take next to no CPU time: a wait polls only while that pays."""
import pathlib
import signal
import time

import harness

WINDOW = 2.0
MOST = 0.01  # of one core, each


def cpu_seconds(process):
    """What all threads of it have used so far; exact, unlike the ticks of /proc/PID/stat."""
    tasks = pathlib.Path(f"/proc/{process.pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


class IdleTest(harness.ClusterTest):
    def running(self):
        roles = self.start_cluster(harness.cluster_of(2, 2), *self.flags(max_steps=1000000, lease=60, transport=self.transport))
        for name, role in roles.items():
            if name.startswith("worker"):
                role.wait_for_line(r"step \d+ loss", 60)
        return roles

    def assert_idle(self, processes):
        """Within 20 s there is a window in which none of them used more than MOST, nor all together twice that."""
        used = {}

        def idle():
            before = {p.name: cpu_seconds(p) for p in processes}
            started = time.monotonic()
            time.sleep(WINDOW)
            seconds = time.monotonic() - started
            used.update({p.name: (cpu_seconds(p) - before[p.name]) / seconds for p in processes})
            return max(used.values()) < MOST and sum(used.values()) < 2 * MOST

        try:
            harness.wait_for(idle, 20, "an idle window")
        except AssertionError:
            self.fail(f"of one core: {used}")
        print(f"{self.transport}, of one core: " + ", ".join(f"{name} {100 * share:.2f} %" for name, share in used.items()))

    def idle_around(self, frozen):
        roles = self.running()
        for name, role in roles.items():
            if name.startswith(frozen):
                role.signal(signal.SIGSTOP)
        self.assert_idle([role for name, role in roles.items() if not name.startswith(frozen)])

    transport = "tcp"

    def test_without_pushes_and_pulls(self):
        self.idle_around("worker")

    def test_while_workers_wait_for_answers(self):
        self.idle_around("ps")


class IdleOverSharedMemoryTest(IdleTest):
    transport = "shm"


if __name__ == "__main__":
    harness.main()
