"""Processes that die, freeze or are told to stop, in the middle of a run of real processes."""
import json
import re
import signal
import time
import unittest

import harness

LEASE = 2.0
# How a worker's log and the summary name the path of pushes and pulls within a host.
MAPPED = "mapped (messages over "
PATHS = {"auto": MAPPED, "shm": MAPPED, "tcp": "message (ucx tcp/"}


class FailureTest(harness.ClusterTest):
    def running(self, ps=2, workers=2, evaluator=False, transport="auto", **flags):
        """A cluster in mid-run, in which pulls and pushes take the path that `transport` stands for."""
        self.spec = harness.cluster_of(ps, workers, evaluator)
        self.job_flags = self.flags(max_steps=1000000, lease=LEASE, end_linger=5, transport=transport, **flags)
        roles = self.start_cluster(self.spec, *self.job_flags)
        for name, role in roles.items():
            if name.startswith("worker"):
                role.wait_for_line(r"step \d+ loss", 60)
                self.assert_paths(re.findall(r"path to ps \d+: (.*)", role.text()), transport, ps)
        return roles

    def assert_paths(self, paths, transport, count):
        self.assertEqual([path[:len(PATHS[transport])] for path in paths], count * [PATHS[transport]], paths)

    def assert_lost(self, roles, lost, within):
        """Everybody else exits 4, naming the lost role, in time."""
        others = [r for r in roles.values() if r is not lost]
        self.assert_exit(others, 4, within)
        for role in others:
            self.assertRegex(role.text(), rf"{lost.name.replace(' 0', '( 0)?') if lost.name == 'chief 0' else lost.name}\b", role.name)

    def loses_ps(self, name, number, **options):
        roles = self.running(**options)
        roles[name].signal(number)
        self.assert_lost(roles, roles[name], LEASE + 2)
        if number == signal.SIGSTOP:
            roles[name].signal(signal.SIGCONT)
            self.assert_exit([roles[name]], 4, LEASE + 2)

    def test_killed_ps_ends_the_job(self):
        self.loses_ps("ps 1", signal.SIGKILL, evaluator=True)

    def test_frozen_ps_ends_the_job(self):
        self.loses_ps("ps 1", signal.SIGSTOP, evaluator=True)

    def test_killed_ps_ends_the_job_over_shared_memory(self):
        self.loses_ps("ps 1", signal.SIGKILL, transport="shm")

    def test_frozen_ps_ends_the_job_over_shared_memory(self):
        self.loses_ps("ps 1", signal.SIGSTOP, transport="shm")

    def test_killed_ps_ends_the_job_over_tcp(self):
        self.loses_ps("ps 1", signal.SIGKILL, transport="tcp")

    def test_frozen_ps_ends_the_job_over_tcp(self):
        self.loses_ps("ps 1", signal.SIGSTOP, transport="tcp")

    def test_frozen_first_ps_ends_the_job(self):
        self.loses_ps("ps 0", signal.SIGSTOP)

    def test_killed_chief_ends_the_job(self):
        roles = self.running()
        roles["chief 0"].signal(signal.SIGKILL)
        self.assert_lost(roles, roles["chief 0"], LEASE + 2)

    def test_frozen_chief_ends_the_job(self):
        roles = self.running()
        roles["chief 0"].signal(signal.SIGSTOP)
        self.assert_lost(roles, roles["chief 0"], LEASE + 2)

    def assert_exactly_once(self, summary, transport, steps=None):
        """Every step that counts was applied once, and at most the last one of a lost worker beside them."""
        if steps is not None:
            self.assertEqual(summary["global_step"], steps)
        pushes = summary["pushes"]
        self.assertEqual(pushes["acknowledged"], summary["global_step"])
        self.assertIn(pushes["applied"] - pushes["acknowledged"], (0, 1))
        self.assertEqual(pushes["lost"], 0)
        self.assert_paths([p["path"] for p in summary["paths"]], transport, len(summary["paths"]))

    def finishes_without(self, number, transport="auto"):
        summary = self.folder / "summary.json"
        steps = 1500
        roles = self.start_cluster(harness.cluster_of(2, 2), *self.flags(max_steps=steps, lease=LEASE, end_linger=5, summary=summary,
                                                                         transport=transport))
        lost = roles["worker 1"]
        for worker in ("worker 0", "worker 1"):  # one that is alone would take the job with it
            roles[worker].wait_for_line(r"step \d+ loss", 60)
        lost.signal(number)
        self.assert_exit([r for r in roles.values() if r is not lost], 0, 90)
        self.assert_exactly_once(json.loads(summary.read_text()), transport, steps)

    def test_killed_worker_is_done_without(self):
        self.finishes_without(signal.SIGKILL)

    def test_frozen_worker_is_done_without(self):
        self.finishes_without(signal.SIGSTOP)

    def test_killed_worker_is_done_without_over_shared_memory(self):
        self.finishes_without(signal.SIGKILL, transport="shm")

    def test_killed_worker_is_done_without_over_tcp(self):
        self.finishes_without(signal.SIGKILL, transport="tcp")

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

    def restarts_worker(self, **options):
        summary = self.folder / "summary.json"
        roles = self.running(summary=summary, **options)
        roles["worker 1"].signal(signal.SIGKILL)
        roles["worker 1"].wait(5)
        roles["worker 1"] = self.start_role(self.spec, "worker", 1, *self.job_flags)
        roles["worker 1"].wait_for_line(r"step \d+ loss", 30)
        roles["chief 0"].signal(signal.SIGTERM)
        self.assert_exit(roles.values(), 0, 35)
        self.assert_exactly_once(json.loads(summary.read_text()), options.get("transport", "auto"))

    def test_restarted_worker_takes_part_again(self):
        self.restarts_worker()

    def test_restarted_worker_takes_part_again_over_tcp(self):
        self.restarts_worker(transport="tcp")


if __name__ == "__main__":
    harness.main()
