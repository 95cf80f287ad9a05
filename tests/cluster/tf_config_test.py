"""Clusters described by TF_CONFIG: any start order, hosted roles, resume, late tasks."""
import json
import random
import re
import unittest

import harness


class TfConfigTest(harness.ClusterTest):
    def test_any_order(self):
        seed = random.randrange(10**6)
        print(f"seed {seed}")
        rng = random.Random(seed)
        spec = harness.cluster_of(2, 2, evaluator=True)
        order = [(role, i) for role in spec for i in range(len(spec[role]))]
        rng.shuffle(order)
        roles = [self.start_role(spec, role, i, *self.flags(end_linger=20)) for role, i in order]
        self.assert_exit(roles, 0, 90)
        worker = next(r for r in roles if r.name == "worker 0")
        self.assertRegex(worker.text(), r"step \d+ loss \d")
        ps = next(r for r in roles if r.name == "ps 0")
        self.assertLessEqual(ps.text().count("\n"), 12)

    def test_no_chief_listed_worker_hosts_it(self):
        spec = harness.cluster_of(1, 1)
        del spec["chief"]
        self.assert_exit(self.start_cluster(spec, *self.flags()).values(), 0, 60)

    def test_no_worker_listed_chief_hosts_it(self):
        spec = harness.cluster_of(1, 1)
        spec["worker"] = []
        self.assert_exit(self.start_cluster(spec, *self.flags()).values(), 0, 60)

    def test_sparse_indices_and_master(self):
        addresses = harness.free_ports(4)
        spec = {"master": addresses[:1], "ps": {"0": addresses[1], "3": addresses[2]}, "worker": {"2": addresses[3]}}
        roles = [self.start_role(spec, "master", 0, *self.flags()), self.start_role(spec, "ps", 0, *self.flags()),
                 self.start_role(spec, "ps", 3, *self.flags()), self.start_role(spec, "worker", 2, *self.flags())]
        self.assert_exit(roles, 0, 60)

    def test_evaluator_that_is_not_listed(self):
        spec = harness.cluster_of(1, 1)
        evaluator = self.start_role(spec, "evaluator", 5, *self.flags())
        roles = self.start_cluster(spec, *self.flags())
        self.assert_exit([evaluator, *roles.values()], 0, 60)
        self.assertRegex(evaluator.text(), r"accuracy \d\.\d")

    def test_without_a_cluster_it_is_local(self):
        process = self.start("run", "run", *self.flags(), env={"TF_CONFIG": "{}"})
        self.assertEqual(process.wait(60), 0)
        self.assertTrue(list((self.folder / "model").glob("step-*/manifest.json")))

    def test_late_task_after_the_end(self):
        spec = harness.cluster_of(1, 1)
        self.assert_exit(self.start_cluster(spec, *self.flags()).values(), 0, 60)
        for role in ("worker", "ps", "chief"):
            late = self.start_role(spec, role, 0, *self.flags())
            self.assertEqual(late.wait(5), 0, late.text())

    def test_token_and_status(self):
        spec = harness.cluster_of(1, 1)
        token = {"WEIR_TOKEN": "s3cret"}
        roles = self.start_cluster(spec, *self.flags(max_steps=1000000), env=token)
        roles["worker 0"].wait_for_line(r"step \d+ loss", 60)
        status = self.start("status", "status", "--chief", spec["chief"][0], "--json", env=token)
        self.assertEqual(status.wait(5), 0)
        s = json.loads(status.text())
        self.assertEqual(sorted((m["role"], m["state"]) for m in s["members"]),
                         [("chief", "joined"), ("ps", "joined"), ("worker", "joined")])
        self.assertEqual({m["role"]: m["pid"] for m in s["members"]}["ps"], roles["ps 0"].pid)
        self.assertNotIn("s3cret", "".join(r.text() for r in roles.values()))
        self.refused(2, "status", "--chief", spec["chief"][0])


if __name__ == "__main__":
    harness.main()
