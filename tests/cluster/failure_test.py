"""Processes that die, freeze or are told to stop, in the middle of a run of real processes."""
import json
import re
import signal
import time
import unittest

import harness

LEASE = 2.0


class FailureTest(harness.ClusterTest):
    def running(self, ps=2, workers=2, evaluator=False, **flags):
        """A cluster in mid-run, in which pulls and pushes go through mapped memory."""
        spec = harness.cluster_of(ps, workers, evaluator)
        roles = self.start_cluster(spec, *self.flags(max_steps=1000000, lease=LEASE, end_linger=5, **flags))
        for name, role in roles.items():
            if name.startswith("worker"):
                role.wait_for_line(r"step \d+ loss", 60)
                self.assertEqual(len(re.findall(r"path to ps \d+: mapped \(messages over ", role.text())), ps, role.text())
        return roles

    def assert_lost(self, roles, lost, within):
        """Everybody else exits 4, naming the lost role, in time."""
        others = [r for r in roles.values() if r is not lost]
        self.assert_exit(others, 4, within)
        for role in others:
            self.assertRegex(role.text(), rf"{lost.name.replace(' 0', '( 0)?') if lost.name == 'chief 0' else lost.name}\b", role.name)

    def test_killed_ps_ends_the_job(self):
        roles = self.running(evaluator=True)
        roles["ps 1"].signal(signal.SIGKILL)
        self.assert_lost(roles, roles["ps 1"], LEASE + 2)

    def test_frozen_ps_ends_the_job(self):
        roles = self.running(evaluator=True)
        roles["ps 1"].signal(signal.SIGSTOP)
        self.assert_lost(roles, roles["ps 1"], LEASE + 2)

    def test_killed_ps_ends_the_job_over_shared_memory(self):
        roles = self.running(transport="shm")
        roles["ps 1"].signal(signal.SIGKILL)
        self.assert_lost(roles, roles["ps 1"], LEASE + 2)

    def test_frozen_ps_ends_the_job_over_shared_memory(self):
        roles = self.running(transport="shm")
        roles["ps 1"].signal(signal.SIGSTOP)
        self.assert_lost(roles, roles["ps 1"], LEASE + 2)

    def test_frozen_first_ps_ends_the_job(self):
        roles = self.running()
        roles["ps 0"].signal(signal.SIGSTOP)
        self.assert_lost(roles, roles["ps 0"], LEASE + 2)

    def test_killed_chief_ends_the_job(self):
        roles = self.running()
        roles["chief 0"].signal(signal.SIGKILL)
        self.assert_lost(roles, roles["chief 0"], LEASE + 2)

    def test_frozen_chief_ends_the_job(self):
        roles = self.running()
        roles["chief 0"].signal(signal.SIGSTOP)
        self.assert_lost(roles, roles["chief 0"], LEASE + 2)

    def finishes_without(self, number, **flags):
        spec = harness.cluster_of(2, 2)
        summary = self.folder / "summary.json"
        steps = 1500
        roles = self.start_cluster(spec, *self.flags(max_steps=steps, lease=LEASE, end_linger=5, summary=summary, **flags))
        lost = roles["worker 1"]
        for worker in ("worker 0", "worker 1"):  # one that is alone would take the job with it
            roles[worker].wait_for_line(r"step \d+ loss", 60)
        lost.signal(number)
        self.assert_exit([r for r in roles.values() if r is not lost], 0, 90)
        s = json.loads(summary.read_text())
        self.assertEqual(s["global_step"], steps)
        self.assertEqual(s["pushes"]["acknowledged"], steps)
        self.assertIn(s["pushes"]["applied"] - s["pushes"]["acknowledged"], (0, 1))  # the lost worker's last
        self.assertEqual(s["pushes"]["lost"], 0)
        self.assertTrue(all(p["path"].startswith("mapped (") for p in s["paths"]), s["paths"])

    def test_killed_worker_is_done_without(self):
        self.finishes_without(signal.SIGKILL)

    def test_frozen_worker_is_done_without(self):
        self.finishes_without(signal.SIGSTOP)

    def test_killed_worker_is_done_without_over_shared_memory(self):
        self.finishes_without(signal.SIGKILL, transport="shm")

    def test_terminated_worker_leaves_and_the_others_go_on(self):
        roles = self.running()
        roles["worker 0"].signal(signal.SIGTERM)
        self.assertEqual(roles["worker 0"].wait(10), 0)
        before = max(int(s) for s in re.findall(r"step (\d+) loss", roles["worker 1"].text()))
        harness.wait_for(lambda: max(int(s) for s in re.findall(r"step (\d+) loss", roles["worker 1"].text())) > before + 20, 30,
                         "worker 1 goes on")
        self.assertIsNone(roles["chief 0"].code())

    def test_all_workers_killed_ends_with_4(self):
        roles = self.running(workers=1)
        roles["worker 0"].signal(signal.SIGKILL)
        self.assert_exit([roles["chief 0"], roles["ps 0"], roles["ps 1"]], 4, LEASE + 4)

    def stops(self, name, number):
        roles = self.running()
        roles[name].signal(number)
        self.assert_exit(roles.values(), 0, 35)
        manifests = list((self.folder / "model").glob("step-*/manifest.json"))
        self.assertEqual(len(manifests), 1)
        self.assertFalse(json.loads(manifests[0].read_text())["final"])

    def test_terminated_chief_checkpoints_and_ends(self):
        self.stops("chief 0", signal.SIGTERM)

    def test_interrupted_ps_checkpoints_and_ends(self):
        self.stops("ps 1", signal.SIGINT)

    def test_restarted_worker_takes_part_again(self):
        spec = harness.cluster_of(1, 2)
        flags = self.flags(max_steps=1000000, lease=LEASE, end_linger=5)
        roles = self.start_cluster(spec, *flags)
        roles["worker 1"].wait_for_line(r"step \d+ loss", 60)
        roles["worker 1"].signal(signal.SIGKILL)
        roles["worker 1"].wait(5)
        again = self.start_role(spec, "worker", 1, *flags)
        again.wait_for_line(r"step \d+ loss", 30)
        roles["chief 0"].signal(signal.SIGTERM)
        self.assert_exit([roles["chief 0"], roles["ps 0"], roles["worker 0"], again], 0, 35)


if __name__ == "__main__":
    harness.main()
