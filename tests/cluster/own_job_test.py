"""Another job is another file: a program of its own with weir::TrainAndEvaluate."""
import json
import os
import unittest

import harness

OWN_JOB = os.environ.get("OWN_JOB", str(harness.ROOT / "build/release/tests/cluster/own_job"))


class OwnJobTest(harness.ClusterTest):
    def start_program(self, name, *arguments, env=None):
        process = harness.Process(name, [OWN_JOB, *arguments], self.folder, env)
        self.processes.append(process)
        return process

    def check(self, summary):
        s = json.loads(summary.read_text())
        self.assertEqual((s["job"], s["global_step"]), ("clouds", 120))
        self.assertGreater(s["test_accuracy"], 0.95)

    def test_cluster(self):
        spec = harness.cluster_of(2, 2, evaluator=True)
        summary = self.folder / "summary.json"
        roles = [self.start_program(f"{role} {i}", self.folder / "model", 120, summary,
                                    env={"TF_CONFIG": json.dumps({"cluster": spec, "task": {"type": role, "index": i}})})
                 for role in spec for i in range(len(spec[role]))]
        self.assert_exit(roles, 0, 60)
        self.check(summary)

    def test_without_a_cluster(self):
        summary = self.folder / "summary.json"
        process = self.start_program("program", self.folder / "model", 120, summary)
        self.assert_exit([process], 0, 60)
        self.check(summary)
        self.assertEqual(len({m["pid"] for m in json.loads(summary.read_text())["members"]}), 3)

    def test_mistakes_are_told(self):
        process = self.start_program("program", self.folder / "model", 120, env={"TF_CONFIG": "[]"})
        self.assert_exit([process], 2, 5)
        self.assertIn("TF_CONFIG", process.text())


if __name__ == "__main__":
    harness.main()
