"""`weir checkpoint`: what a job saved is verified, compared, exported, imported elsewhere and trained on."""
import json
import signal
import struct
import subprocess

import harness


class CheckpointToolTest(harness.ClusterTest):
    def tool(self, *arguments, code=0):
        """Its standard output; fails unless it ends with this code in time."""
        command = [harness.WEIR, "checkpoint", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertLess(len(done.stderr.splitlines()), 8, done.stderr)
        self.errors = done.stderr
        return done.stdout

    def train(self, *flags, code=0, **overrides):
        process = self.start("local", "local", "--summary", self.folder / "summary.json", *flags,
                             *self.flags(eval_steps=1, **overrides))
        self.assertEqual(process.wait(120), code, process.text())
        return process

    def newest(self, model="model"):
        return sorted((self.folder / model).glob("step-*"))[-1]

    def test_a_job_goes_on_from_an_import(self):
        self.train("--ps", "1", max_steps=5)
        saved, exported = self.newest(), self.folder / "weights.safetensors"
        self.assertIn("ok", self.tool("verify", saved))
        self.tool("export", saved, exported)
        self.assertIn("6 tensors equal", self.tool("diff", saved, exported))
        self.assertIn("--force", self.tool("export", saved, exported, code=2) + self.errors)
        self.tool("export", "--force", saved, exported)

        self.tool("import", "--job", "fashion-mnist", exported, self.folder / "elsewhere")
        imported = self.newest("elsewhere")
        self.assertEqual(imported.name, "step-00000005")
        self.assertIn("ok", self.tool("verify", imported))
        self.tool("diff", exported, imported)

        process = self.train("--ps", "2", model_dir=self.folder / "elsewhere", max_steps=8)
        self.assertIn("step-00000005 at step 5", process.text())
        summary = json.loads((self.folder / "summary.json").read_text())
        self.assertEqual((summary["global_step"], summary["pushes"]["acknowledged"]), (8, 3))
        trained = self.newest("elsewhere")
        self.tool("verify", trained)
        report = json.loads(self.tool("diff", "--json", imported, trained, code=1))
        self.assertEqual(report["equal_tensors"] + len(report["differences"]), 6)
        self.assertTrue(all(0 < d["l2"] < 10 for d in report["differences"]), report)

    def test_what_is_damaged_is_named(self):
        self.train("--ps", "2", max_steps=3)
        shards = sorted(self.newest().glob("*.safetensors"))
        content = bytearray(shards[0].read_bytes())
        content[-10] ^= 1
        shards[0].write_bytes(content)
        shards[1].unlink()
        text = self.tool("verify", self.newest(), code=3)
        self.assertIn("2 problems", text)
        for shard in shards:
            self.assertIn(shard.name, text)
        self.tool("export", self.newest(), self.folder / "e.safetensors", code=3)
        self.tool("diff", self.newest(), self.newest(), code=3)
        self.assertFalse((self.folder / "e.safetensors").exists())
        self.assertIn("step-00000003", self.tool("verify", self.folder / "model", code=2) + self.errors)

    def write(self, tensors, name="made.safetensors"):
        """A file of {name: (dtype, shape, bytes)}."""
        header, data = {}, b""
        for tensor, (dtype, shape, content) in tensors.items():
            header[tensor] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
            data += content
        text = json.dumps(header).encode()
        path = self.folder / name
        path.write_bytes(struct.pack("<Q", len(text)) + text + data)
        return path

    def test_a_job_refuses_an_import_of_another_model(self):
        path = self.write({"dense/kernel": ("F32", [2], bytes(8))})
        self.tool("import", "--job", "fashion-mnist", path, self.folder / "model", code=3)
        self.assertIn("conv2d/kernel", self.errors)
        self.tool("import", path, self.folder / "model")
        process = self.train(code=3)
        self.assertIn("conv2d/kernel", process.text())

    def test_a_bad_file_is_refused(self):
        model = self.folder / "model"
        for content in (b"", b"1234567", struct.pack("<Q", 2**63) + b"{}", struct.pack("<Q", 10**8) + b"{}",
                        struct.pack("<Q", 3) + b"{} tail", struct.pack("<Q", 10**8 + 1) + bytes(10)):
            path = self.folder / "bad.safetensors"
            path.write_bytes(content)
            self.tool("verify", path, code=3)
            self.tool("import", path, model, code=3)
            self.assertIn(str(path), self.errors)
        self.tool("import", self.write({"a": ("I64", [1], bytes(8))}), model, code=3)
        self.assertIn("'a' is I64", self.errors)
        self.assertFalse(model.exists())
        self.tool("import", self.folder / "none", model, code=3)
        self.tool("import", "--stepp", "3", path, model, code=2)
        self.assertIn("--step", self.errors)

    def test_no_import_into_a_running_job(self):
        process = self.start("local", "local", *self.flags(max_steps=1000000))
        process.wait_for_line(r"worker 0: step \d", 60)
        self.tool("import", self.write({"a": ("F32", [1], bytes(4))}), self.folder / "model", code=2)
        self.assertIn("in use", self.errors)

    def test_checkpoints_pruned_under_the_evaluator(self):
        """One is kept and one saved at every step: the evaluator is late for most, and never at a loss."""
        process = self.train("--ps", "2", "--workers", "1", "--evaluator", max_steps=60, save_checkpoints_steps=1,
                             keep_checkpoint_max=1)
        self.assertNotRegex(process.text(), "could not evaluate|evaluation of .* failed")
        lines = [json.loads(line) for line in (self.folder / "model/metrics.jsonl").read_text().splitlines()]
        evaluated = [line["step"] for line in lines if "accuracy" in line]
        self.assertEqual(evaluated, sorted(set(evaluated)))
        self.assertEqual(evaluated[-1], 60)

    def test_the_evaluator_takes_the_newest_for_one_that_is_gone(self):
        spec = harness.cluster_of(1, 1, evaluator=True)
        flags = self.flags(max_steps=1000000, save_checkpoints_steps=60, lease=60, eval_steps=1)
        roles = {role: self.start_role(spec, role, 0, *flags) for role in ("chief", "ps", "worker")}
        roles["chief"].wait_for_line("saved checkpoint step-00000060", 120)
        roles["worker"].signal(signal.SIGSTOP)  # no further one comes
        saved = self.folder / "model/step-00000060"
        manifest = json.loads((saved / "manifest.json").read_text())
        saved.rename(saved.with_name("step-00000777"))
        (self.folder / "model/step-00000777/manifest.json").write_text(json.dumps({**manifest, "step": 777}))

        evaluator = self.start_role(spec, "evaluator", 0, *flags)
        evaluator.wait_for_line("step-00000060 was pruned before it was read: step-00000777 instead", 30)
        roles["chief"].wait_for_line("evaluation at step 777: accuracy", 30)


if __name__ == "__main__":
    harness.main()
