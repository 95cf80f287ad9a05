"""Processes with nothing to do take next to no CPU time: a wait polls only while that pays."""
import ctypes
import signal
import time

import harness

WINDOW = 4.0
MOST = 0.01  # of one core, each
MOST_TOGETHER = 0.02  # of one core, all that are measured (docs/performance.md, Waiting)


def cpu_seconds(process):
    """What all its threads have used so far, also those that ended; exact, unlike the ticks of /proc/PID/stat."""
    clock = ctypes.c_int()
    error = ctypes.CDLL(None).clock_getcpuclockid(process.pid, ctypes.byref(clock))
    if error != 0:
        raise AssertionError(f"no CPU clock of {process.name}: error {error}")
    return time.clock_gettime(clock.value)


class IdleTest(harness.ClusterTest):
    transport = "tcp"

    def running(self, workers=2, max_steps=1000000):
        roles = self.start_cluster(harness.cluster_of(2, workers), *self.flags(max_steps=max_steps, lease=60, transport=self.transport))
        for name, role in roles.items():
            if name.startswith("worker"):
                role.wait_for_line(r"step \d+ loss", 60)
        return roles

    def assert_idle(self, processes):
        """Within 30 s there is a window in which none of them used more than MOST, nor all together MOST_TOGETHER."""
        used = {}

        def idle():
            before = {p.name: cpu_seconds(p) for p in processes}
            started = time.monotonic()
            time.sleep(WINDOW)
            seconds = time.monotonic() - started
            used.update({p.name: (cpu_seconds(p) - before[p.name]) / seconds for p in processes})
            return max(used.values()) < MOST and sum(used.values()) < MOST_TOGETHER

        try:
            harness.wait_for(idle, 30, "an idle window")
        except AssertionError:
            self.fail(f"of one core: {used}")
        print(f"{self.transport}, of one core: " + ", ".join(f"{name} {100 * share:.2f} %" for name, share in used.items()) +
              f"; together {100 * sum(used.values()):.2f} %")

    def idle_around(self, frozen):
        roles = self.running()
        for name, role in roles.items():
            if name.startswith(frozen):
                role.signal(signal.SIGSTOP)
        self.assert_idle([role for name, role in roles.items() if not name.startswith(frozen)])

    def test_without_pushes_and_pulls(self):
        self.idle_around("worker")

    def test_while_workers_wait_for_answers(self):
        self.idle_around("ps")

    def test_chief_two_ps_and_two_workers_together(self):
        """No step is left but the one that a third worker holds, which is frozen: all others wait for it, or for the chief."""
        roles = self.running(workers=3, max_steps=2000)
        roles["worker 2"].signal(signal.SIGSTOP)
        awake = [role for name, role in roles.items() if name != "worker 2"]
        self.assert_idle(awake)
        self.assertEqual([role.code() for role in awake], 5 * [None])
        roles["worker 2"].signal(signal.SIGCONT)  # it does its step, and the job ends
        self.assert_exit(roles.values(), 0, 30)


class IdleOverSharedMemoryTest(IdleTest):
    transport = "shm"


if __name__ == "__main__":
    harness.main()
