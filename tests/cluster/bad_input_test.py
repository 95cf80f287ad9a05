"""Bad input of every kind: one clear error, the right exit code, within five seconds, files as they were."""
import gzip
import json
import os
import random
import shutil
import signal
import socket
import struct
import unittest

import harness


def idx(images, rows=28, columns=28, count=None, magic=2051):
    head = struct.pack(">IIII", magic, images if count is None else count, rows, columns)
    return gzip.compress(head + bytes(images * rows * columns), 1)


def labels(items, count=None, magic=2049):
    return gzip.compress(struct.pack(">II", magic, items if count is None else count) + bytes(items), 1)


def snapshot(folder):
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in sorted(folder.rglob("*"))}


class DataTest(harness.ClusterTest):
    """A worker says what is wrong with its data before it looks for a chief."""

    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        self.data.mkdir()
        self.write(idx(300), labels(300))

    def write(self, images=None, label_file=None):
        for part in ("train", "t10k"):
            if images is not None:
                (self.data / f"{part}-images-idx3-ubyte.gz").write_bytes(images)
            if label_file is not None:
                (self.data / f"{part}-labels-idx1-ubyte.gz").write_bytes(label_file)

    def worker(self, code, **flags):
        spec = harness.cluster_of()
        before = snapshot(self.data)
        text = self.refused(code, "run", *self.flags(data_dir=self.data, **flags),
                            env={"TF_CONFIG": json.dumps({"cluster": spec, "task": {"type": "worker", "index": 0}})})
        self.assertEqual(snapshot(self.data), before)
        return text

    def test_missing_directory(self):
        shutil.rmtree(self.data)
        self.data = self.folder / "data"
        spec = harness.cluster_of()
        text = self.refused(3, "run", *self.flags(data_dir=self.data),
                            env={"TF_CONFIG": json.dumps({"cluster": spec, "task": {"type": "worker", "index": 0}})})
        self.assertIn(str(self.data), text)

    def test_not_gzip(self):
        self.write(images=b"this is no gzip file" * 100)
        self.assertIn("gzip", self.worker(3))

    def test_truncated(self):
        self.write(images=idx(300)[:-20])
        self.assertIn("train-images", self.worker(3))

    def test_wrong_magic_in_decimal(self):
        self.write(images=idx(300, magic=2049))
        text = self.worker(3)
        self.assertIn("2049", text)
        self.assertIn("2051", text)

    def test_counts_differ(self):
        self.write(label_file=labels(299))
        text = self.worker(3)
        self.assertIn("299", text)
        self.assertIn("300", text)

    def test_payload_shorter_and_longer(self):
        self.write(images=idx(300, count=301), label_file=labels(301))
        self.worker(3)
        self.write(images=idx(301, count=300), label_file=labels(300))
        self.worker(3)

    def test_batch_larger_than_the_data(self):
        text = self.worker(2, batch_size=301)
        self.assertIn("301", text)
        self.assertIn("300", text)

    def test_local_ends_with_the_members_code(self):
        self.write(images=b"no")
        self.refused(3, "local", *self.flags(data_dir=self.data), seconds=15)


class ConfigurationTest(harness.ClusterTest):
    def run_with(self, config, *extra, code=2):
        text = config if isinstance(config, str) else json.dumps(config)
        return self.refused(code, "run", *self.flags(), *extra, env={"TF_CONFIG": text})

    def test_malformed_tf_config(self):
        good = {"chief": ["127.0.0.1:2000"], "ps": ["127.0.0.1:2001"], "worker": ["127.0.0.1:2002"]}
        task = {"type": "ps", "index": 0}
        cases = {
            "": "TF_CONFIG", "null": "TF_CONFIG", "[]": "TF_CONFIG", "{": "TF_CONFIG",
            json.dumps({"cluster": good}): "task",
            json.dumps({"cluster": good, "task": {"type": "PS", "index": 0}}): "PS",
            json.dumps({"cluster": good, "task": {"type": "ps", "index": 7}}): "7",
            json.dumps({"cluster": {**good, "ps": []}, "task": {"type": "worker", "index": 0}}): "ps",
            json.dumps({"cluster": {**good, "ps": ["127.0.0.1:0"]}, "task": task}): "cluster.ps",
            json.dumps({"cluster": {**good, "ps": ["http://127.0.0.1:1"]}, "task": task}): "cluster.ps",
            json.dumps({"cluster": {**good, "ps": ["127.0.0.1:2002"]}, "task": task}): "127.0.0.1:2002",
            json.dumps({"cluster": {**good, "master": ["127.0.0.1:2003"]}, "task": task}): "master",
            json.dumps({"cluster": {**good, "cook": ["127.0.0.1:2003"]}, "task": task}): "cook",
            json.dumps({"cluster": {**good, "ps": ["10.0.0.1:2001"]}, "task": task}): "127.0.0.1",
            '{"cluster": {"ps": ["h:1"], "ps": ["h:2"]}, "task": {"type": "ps", "index": 0}}': "ps",
        }
        for config, names in cases.items():
            with self.subTest(config=config):
                self.assertIn(names, self.run_with(config))

    def test_all_mistakes_at_once(self):
        cluster = {"chief": ["a"], "ps": ["b:0"], "worker": ["c:x"]}
        tf_config = json.dumps({"cluster": cluster, "task": {"type": "ps", "index": 0}})
        # `weir run` cuts its list to a page; `weir config` has it whole.
        text = self.refused(2, "config", "run", *self.flags(), "--batch-size", "0", "--max-stepz", "3", env={"TF_CONFIG": tf_config})
        for mistake in ("cluster.chief", "cluster.ps", "cluster.worker", "--batch-size", "--max-steps"):
            self.assertIn(mistake, text)

    def test_unknown_flag_and_command(self):
        self.assertIn("--batch-size", self.refused(2, "local", "--batch-sise", "3"))
        self.assertIn("local", self.refused(2, "locl"))
        self.assertIn("not in this version", self.refused(2, "local", "--mode", "sync:2"))
        self.refused(2, "bench")

    @unittest.skipIf(os.path.isdir("/sys/class/infiniband") and os.listdir("/sys/class/infiniband"), "this host has an RDMA device")
    def test_rdma_without_a_device(self):
        for transport in ("rdma", "require-rdma"):
            text = self.refused(2, "local", "--transport", transport)
            self.assertIn(f"--transport {transport}: this host has no RDMA device", text)
        # A role of a cluster does not wait for its chief to be told so.
        spec = harness.cluster_of()
        for role in ("ps", "worker"):
            process = self.start_role(spec, role, 0, *self.flags(transport="require-rdma"))
            self.assertEqual(process.wait(5), 2, process.text())
            self.assertIn("--transport require-rdma: this host has no RDMA device", process.text())

    def test_address_in_use(self):
        spec = harness.cluster_of()
        host, port = spec["ps"][0].split(":")
        with socket.socket() as holder:
            holder.bind((host, int(port)))
            holder.listen()
            role = self.start_role(spec, "ps", 0, *self.flags())
            self.assertEqual(role.wait(5), 2, role.text())
            self.assertIn("ps 0", role.text())
            self.assertIn(spec["ps"][0], role.text())

    def test_the_same_role_twice(self):
        spec = harness.cluster_of()
        first = self.start_role(spec, "ps", 0, *self.flags())
        harness.wait_for(lambda: listening(spec["ps"][0]), 10, "the first one listens")
        second = self.start_role(spec, "ps", 0, *self.flags())
        self.assertEqual(second.wait(5), 2, second.text())
        self.assertIsNone(first.code())

    def test_model_directory_unwritable(self):
        (self.folder / "file").write_text("x")
        text = self.refused(2, "local", *self.flags(model_dir=self.folder / "file" / "below"), seconds=10)
        self.assertIn("below", text)

    def test_wrong_token(self):
        spec = harness.cluster_of()
        chief = self.start_role(spec, "chief", 0, *self.flags(), env={"WEIR_TOKEN": "right"})
        harness.wait_for(lambda: listening(spec["chief"][0]), 10, "the chief listens")
        for token in ({"WEIR_TOKEN": "wrong"}, {}):
            role = self.start_role(spec, "ps", 0, *self.flags(), env=token)
            self.assertEqual(role.wait(5), 2, role.text())
            self.assertIn("token", role.text())
        self.assertIsNone(chief.code())

    def test_settings_that_differ(self):
        spec = harness.cluster_of()
        self.start_role(spec, "chief", 0, *self.flags())
        harness.wait_for(lambda: listening(spec["chief"][0]), 10, "the chief listens")
        role = self.start_role(spec, "ps", 0, *self.flags(learning_rate=0.07))
        self.assertEqual(role.wait(5), 2, role.text())
        self.assertIn("0.07", role.text())

    def test_start_deadline_names_the_missing(self):
        spec = harness.cluster_of()
        chief = self.start_role(spec, "chief", 0, *self.flags(start_deadline=2))
        self.assertEqual(chief.wait(8), 4, chief.text())
        self.assertIn("ps 0", chief.text())


def listening(address):
    host, port = address.split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


class CheckpointTest(harness.ClusterTest):
    def setUp(self):
        super().setUp()
        made = self.start("made", "local", *self.flags(max_steps=5))
        self.assertEqual(made.wait(60), 0, made.text())
        self.checkpoint = next((self.folder / "model").glob("step-*"))

    def resume(self, code):
        before = {k: v for k, v in snapshot(self.checkpoint).items()}
        text = self.refused(code, "local", *self.flags(max_steps=9), seconds=20)
        self.assertEqual(snapshot(self.checkpoint), before)
        return text

    def shard(self):
        return next(self.checkpoint.glob("*.safetensors"))

    def test_truncated(self):
        data = self.shard().read_bytes()
        self.shard().write_bytes(data[:-100])
        self.assertIn(self.shard().name, self.resume(3))

    def test_wrong_checksum(self):
        data = bytearray(self.shard().read_bytes())
        data[-1000] ^= 1
        self.shard().write_bytes(data)
        self.assertIn("checksum", self.resume(3))

    def test_another_model(self):
        manifest = self.checkpoint / "manifest.json"
        content = json.loads(manifest.read_text())
        for tensor in content["tensors"]:
            if tensor["name"] == "dense/bias":
                tensor["shape"] = [8, 8]
        manifest.write_text(json.dumps(content))
        text = self.resume(3)
        self.assertIn("dense/bias", text)
        self.assertRegex(text, r"\[64\]")
        self.assertRegex(text, r"\[8, ?8\]")

    def test_ls_and_show(self):
        ls = self.start("ls", "checkpoint", "ls", self.folder / "model")
        self.assertEqual(ls.wait(5), 0)
        self.assertIn("step-00000005", ls.text())
        show = self.start("show", "checkpoint", "show", self.checkpoint)
        self.assertEqual(show.wait(5), 0)
        self.assertIn("conv2d/kernel", show.text())
        self.shard().unlink()
        self.assertIn("safetensors", self.refused(3, "checkpoint", "show", self.checkpoint))
        self.refused(3, "checkpoint", "ls", self.folder / "nothing")


class GarbageTest(harness.ClusterTest):
    """Random bytes to every port of a running job, which goes on."""

    def send_garbage(self, address, rng, count):
        host, port = address
        for _ in range(count):
            with socket.socket() as s:
                s.settimeout(2)
                if s.connect_ex((host, port)) != 0:
                    continue
                try:
                    s.sendall(rng.randbytes(rng.randrange(1, 400)))
                except OSError:
                    pass

    def test_ports_survive_random_bytes(self):
        seed = random.randrange(10**6)
        print(f"seed {seed}")
        rng = random.Random(seed)
        spec = harness.cluster_of(1, 1)
        roles = self.start_cluster(spec, *self.flags(max_steps=1000000, lease=5))
        roles["worker 0"].wait_for_line(r"step \d+ loss", 60)
        for role in roles.values():
            for port in listening_ports(role.pid):
                self.send_garbage(port, rng, 1000 if role.name != "chief 0" else 300)
        self.assertTrue(all(r.code() is None for r in roles.values()), {n: r.code() for n, r in roles.items()})
        steps = roles["worker 0"].text().count(" loss ")
        harness.wait_for(lambda: roles["worker 0"].text().count(" loss ") > steps + 2, 30, "training goes on")
        roles["chief 0"].signal(signal.SIGTERM)
        self.assert_exit(roles.values(), 0, 35)


def listening_ports(pid):
    """(host, port) of every TCP socket that the process listens on."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in open(f"/proc/net/{table}").read().splitlines()[1:]:
            field = line.split()
            if field[3] == "0A" and field[9] in inodes:
                ports.add(("127.0.0.1", int(field[1].rsplit(":", 1)[1], 16)))
    return sorted(ports)


if __name__ == "__main__":
    harness.main()
