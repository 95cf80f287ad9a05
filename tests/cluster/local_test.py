"""`weir local`: a whole cluster of processes, to a summary that holds."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

import harness

HERE = pathlib.Path(__file__).parent


class LocalTest(harness.ClusterTest):
    def train(self, *flags, seconds=120):
        summary = self.folder / "summary.json"
        process = self.start("local", "local", "--summary", summary, *flags)
        self.assertEqual(process.wait(seconds), 0)
        return json.loads(summary.read_text()), process

    def test_trains_and_reports(self):
        s, process = self.train("--ps", "2", "--workers", "2", "--evaluator", *self.flags(max_steps=200, batch_size=128))
        self.assertEqual(s["global_step"], 200)
        self.assertEqual((s["ps"], s["workers"], s["job"], s["mode"]), (2, 2, "fashion-mnist", "async"))
        self.assertEqual(sorted(m["role"] for m in s["members"]), ["chief", "evaluator", "ps", "ps", "worker", "worker"])
        self.assertEqual(len({m["pid"] for m in s["members"]}), 6)
        self.assertTrue(all(m["exit_code"] == 0 and m["peak_rss_bytes"] > 1e6 for m in s["members"]), s["members"])
        self.assertEqual(s["pushes"], {"acknowledged": 200, "applied": 200, "duplicates": s["pushes"]["duplicates"], "dropped": 0, "lost": 0})
        self.assertEqual(len(s["paths"]), 4)
        self.assertTrue(all("tcp" in p["path"] for p in s["paths"]), s["paths"])
        self.assertGreater(s["bytes"]["pushed"], 200 * 347146 * 4 - 1)
        self.assertGreater(s["test_accuracy"], 0.6)
        self.assertAlmostEqual(s["examples_per_second"], s["steps_per_second"] * 128, delta=1)
        self.assertIn("test accuracy", process.text())
        lines = [json.loads(l) for l in (self.folder / "model/metrics.jsonl").read_text().splitlines()]
        self.assertTrue(any("accuracy" in l for l in lines))
        self.assertGreaterEqual(sum("loss" in l and "worker" in l for l in lines), 30)

    def test_accuracy_is_the_same_outside_weir(self):
        python = "/usr/bin/python3"
        if subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode != 0:
            self.skipTest("needs Debian's python3-numpy")
        s, _ = self.train("--ps", "2", "--workers", "1", *self.flags(max_steps=60, batch_size=128))
        newest = sorted((self.folder / "model").glob("step-*"))[-1]
        out = subprocess.run([python, str(HERE / "evaluate_checkpoint.py"), str(newest)], capture_output=True, text=True, timeout=120)
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertAlmostEqual(json.loads(out.stdout)["accuracy"], s["test_accuracy"], delta=0.002)

    def test_shm_messages(self):
        s, _ = self.train("--ps", "1", "--workers", "1", "--transport", "shm", *self.flags())
        self.assertEqual(s["global_step"], 40)
        self.assertTrue(all("tcp" not in p["path"] for p in s["paths"]), s["paths"])

    def test_more_shards_than_blocks(self):
        s, _ = self.train("--ps", "16", "--workers", "1", *self.flags(max_steps=10))
        self.assertEqual((s["global_step"], s["pushes"]["applied"]), (10, 10))

    def test_several_threads_a_ps(self):
        s, process = self.train("--ps", "2", "--ps-threads", "2", "--workers", "2", *self.flags(max_steps=40))
        self.assertEqual((s["global_step"], s["ps"], len(s["paths"])), (40, 2, 4))
        self.assertEqual((s["pushes"]["applied"], s["pushes"]["lost"]), (40, 0))
        self.assertGreater(s["bytes"]["pushed"], 40 * 347146 * 4 - 1)
        self.assertIn("on 2 threads", process.text())
        saved = self.folder / "model/step-00000040"
        self.assertEqual(len(list(saved.glob("shard-*-of-4.safetensors"))), 4)
        # Another number of threads goes on from there.
        s, _ = self.train("--ps", "1", "--ps-threads", "3", *self.flags(max_steps=50))
        self.assertEqual((s["global_step"], s["pushes"]["acknowledged"]), (50, 10))

    def test_resume_and_reached(self):
        self.train("--ps", "1", *self.flags(max_steps=20))
        s, process = self.train("--ps", "3", "--workers", "2", *self.flags(max_steps=30))
        self.assertIn("step-00000020", process.text())
        self.assertEqual((s["global_step"], s["pushes"]["acknowledged"]), (30, 10))
        again = self.start("again", "local", *self.flags(max_steps=30))
        self.assertEqual(again.wait(20), 0)

    def test_interrupt_checkpoints_and_leaves_no_orphan(self):
        process = self.start("local", "local", "--ps", "1", "--workers", "2", *self.flags(max_steps=1000000))
        process.wait_for_line(r"worker 0: step 5\d", 60)
        children = children_of(process.pid)
        self.assertEqual(len(children), 4)
        process.signal(signal.SIGINT)
        self.assertEqual(process.wait(40), 0)
        self.assertEqual(len(list((self.folder / "model").glob("step-*/manifest.json"))), 1)
        self.assertFalse([pid for pid in children if pathlib.Path(f"/proc/{pid}").exists()])

    def test_killed_parent_takes_its_members_along(self):
        process = self.start("local", "local", "--ps", "1", *self.flags(max_steps=1000000))
        process.wait_for_line(r"worker 0: step \d", 60)
        children = children_of(process.pid)
        process.signal(signal.SIGKILL)
        harness.wait_for(lambda: all(ended(pid) for pid in children), 10, "the members end")


def ended(pid):
    """Gone, or a zombie that its new parent has not reaped."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def children_of(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


if __name__ == "__main__":
    harness.main()
