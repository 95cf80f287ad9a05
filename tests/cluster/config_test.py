"""`--config FILE` and `weir config`: values from a file, where each came from, and mistakes on one short page."""
import json

import harness


class ConfigTest(harness.ClusterTest):
    def file(self, **values):
        path = self.folder / "config.json"
        path.write_text(json.dumps({k.replace("_", "-"): v for k, v in values.items()}))
        return path

    def output(self, code, *command, env=None):
        process = self.start("config", *command, env=env)
        self.assertEqual(process.wait(10), code, process.text())
        return process.text()

    def test_a_cluster_from_files_alone(self):
        spec = harness.cluster_of()
        config = self.file(model_dir=str(self.folder / "model"), max_steps=4, batch_size=16, seed=9, end_linger=5)
        roles = self.start_cluster(spec, "--config", config)
        self.assert_exit(roles.values(), 0, 60)
        self.assertTrue((self.folder / "model/step-00000004/manifest.json").exists())

    def test_local_hands_the_values_to_its_members(self):
        config = self.file(model_dir=str(self.folder / "model"), max_steps=1000, batch_size=16, ps=2)
        process = self.start("local", "local", "--config", config, "--max-steps", "3")
        self.assertEqual(process.wait(60), 0)
        self.assertIn("ps 1", process.text())
        self.assertTrue((self.folder / "model/step-00000003/manifest.json").exists())

    def test_tells_where_each_value_comes_from(self):
        config = self.file(batch_size=16, seed=9, model_dir="/of/the/file")
        tf_config = {"cluster": harness.cluster_of(), "task": {"type": "ps", "index": 0}, "model_dir": "/of/tf"}
        told = json.loads(self.output(0, "config", "--json", "--config", config, "--seed", "3",
                                      env={"TF_CONFIG": json.dumps(tf_config), "WEIR_TOKEN": "s3cret"}))
        self.assertEqual((told["command"], told["task"]), ("run", "ps 0"))
        options = told["options"]
        self.assertEqual(options["batch-size"], {"value": 16, "from": f"file {config}"})
        self.assertEqual(options["seed"], {"value": 3, "from": "flag"})
        self.assertEqual(options["model-dir"], {"value": "/of/tf", "from": "TF_CONFIG"})
        self.assertEqual(options["token-file"], {"value": "set", "from": "WEIR_TOKEN"})
        self.assertEqual(options["lease"], {"value": 5, "from": "default"})
        self.assertNotIn("s3cret", json.dumps(told))
        text = self.output(0, "config", "local", "--workers", "4")
        self.assertRegex(text, r"(?m)^workers +4 +flag$")
        self.assertRegex(text, r"(?m)^batch-size +256 +default$")

    def test_the_same_mistakes_as_run(self):
        config = self.file(batch_size="16", sed=1)
        short = self.refused(2, "run", "--config", config)
        self.assertEqual(self.output(2, "config", "--config", config), short)
        self.assertIn("batch-size: \"16\" is text", short)
        self.assertIn("did you mean seed?", short)

    def test_a_long_list_is_cut_and_config_shows_all(self):
        wrong = [text for n in range(9) for text in (f"--nonsense{n}", "1")]
        for command in ("run", "local"):
            short = self.refused(2, command, *wrong)
            self.assertEqual(len(short.splitlines()), 5, short)
            self.assertIn(f"weir {command}: 9 mistakes", short)
            self.assertIn("--nonsense2", short)
            self.assertNotIn("--nonsense3", short)
            self.assertIn("and 6 more: `weir config" + (" local`" if command == "local" else "`"), short)
            full = self.output(2, "config", command, *wrong)
            self.assertIn("--nonsense8", full)

    def test_errors_are_pages_of_five_lines(self):
        for command in ((), ("locl",), ("status",), ("status", "--chief", "x"), ("checkpoint",), ("checkpoint", "ls"),
                        ("run",), ("local", "--config", "/no/such"), ("bench",)):
            with self.subTest(command=command):
                text = self.refused(2, *command)
                self.assertTrue(text.startswith("weir: "), text)
                self.assertLessEqual(len(text.splitlines()), 5, text)


if __name__ == "__main__":
    harness.main()
