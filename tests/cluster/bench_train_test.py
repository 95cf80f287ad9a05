"""`weir bench train`: real clusters beside trainers without ps."""
import json
import unittest

import harness


class BenchTrainTest(harness.ClusterTest):
    def bench(self, *flags, seconds=300):
        process = self.start("bench", "bench", "train", *flags)
        return process.wait(seconds), process.text()

    def test_every_size_has_its_pairs_and_no_push_is_wrong(self):
        report = self.folder / "report.json"
        code, text = self.bench("--workers", "1,2", "--ps", "1", "--steps", "6", "--pairs", "2", "--batch-size", "32",
                                "--data-dir", harness.DATA, "--json", report)
        self.assertEqual(code, 0, text)
        self.assertIn("# result OK (wrong 0)", text)
        rows = json.loads(report.read_text())["rows"]
        self.assertEqual([(r["workers"], r["ps"], len(r["pairs"])) for r in rows], [(1, 1, 2), (2, 1, 2)])
        for pair in rows[0]["pairs"] + rows[1]["pairs"]:
            for run in (pair["alone"], pair["weir"]):
                self.assertGreater(run["steps_per_second"], 0)
                self.assertGreater(run["forward_ms"] + run["backward_ms"], 0)

    def test_a_ratio_below_the_bar_fails(self):
        code, text = self.bench("--steps", "3", "--pairs", "1", "--batch-size", "16", "--least-ratio", "1000",
                                "--data-dir", harness.DATA)
        self.assertEqual(code, 1, text)
        self.assertIn("# result FAILED", text)

    def test_a_run_that_fails_is_told_with_its_log(self):
        code, text = self.bench("--steps", "3", "--pairs", "1", "--data-dir", self.folder / "nowhere")
        self.assertEqual(code, 3, text)
        self.assertIn("nowhere", text)


if __name__ == "__main__":
    unittest.main()
