"""Real processes over an RDMA device: run in the machine of scripts/rdma-vm, which is emulated, so that limits are generous."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))
import harness

LEASE = 5.0
TRANSFER_WORKER = os.environ["WEIR_TRANSFER_WORKER"]
# The limit holds only for those without CAP_IPC_LOCK.
WITHOUT_LOCKED_MEMORY = ["prlimit", "--memlock=1048576", "setpriv", "--bounding-set=-ipc_lock,-sys_resource"]


class RdmaTest(harness.ClusterTest):
    def test_trains_and_every_path_is_rdma(self):
        summary = self.folder / "summary.json"
        local = self.start("local", "local", "--ps", "2", "--workers", "2", "--transport", "rdma", "--summary", summary,
                           *self.flags(max_steps=50, batch_size=2, eval_steps=1))
        self.assertEqual(local.wait(120), 0, local.text())
        result = json.loads(summary.read_text())
        self.assertEqual(result["global_step"], 50)
        self.assertEqual(result["pushes"]["lost"], 0)
        # Each push followed a pull, mostly by reads that no ps takes part in.
        self.assertGreaterEqual(result["bytes"]["pulled"], result["bytes"]["pushed"])
        self.assertEqual(len(result["paths"]), 4)
        for path in result["paths"]:
            self.assertRegex(path["path"], r"^rdma \(messages over ucx rc_\w+/rxe0:1")

    def test_killed_ps_is_a_typed_error(self):
        spec = harness.cluster_of(2, 2)
        roles = self.start_cluster(spec, *self.flags(max_steps=1000000, batch_size=2, lease=LEASE, end_linger=5, transport="rdma"))
        for name in ("worker 0", "worker 1"):
            roles[name].wait_for_line(r"step \d+ loss", 120)
        roles["ps 1"].signal(signal.SIGKILL)
        killed = time.monotonic()
        for name in ("worker 0", "worker 1"):
            # Not by the connection, which would take the device's retries of 8 s.
            roles[name].wait_for_line(r" [EW] worker \d: .*\bps 1\b", max(0.1, killed + 2 - time.monotonic()))
        print(f"the workers knew of a killed ps after {time.monotonic() - killed:.1f} s (emulated)")
        self.assert_exit([r for r in roles.values() if r is not roles["ps 1"]], 4, LEASE + 20)

    def test_a_ps_killed_in_a_push_or_a_pull_is_a_typed_error_of_that_one(self):
        job = self.folder / "transfers.json"
        # 16 MiB, which take more than a second here.
        job.write_text(json.dumps({"name": "transfers", "max_steps": 1000, "tensors": [{"name": "large", "shape": [4 << 20]}]}))
        for op in ("push", "pull"):
            with self.subTest(op=op):
                self.kill_in_mid_transfer(job, op)

    def kill_in_mid_transfer(self, job, op):
        spec = harness.cluster_of(2, 1)
        flags = ("--job", job, "--learning-rate", 1, "--model-dir", self.folder / op, "--transport", "rdma", "--lease", LEASE)
        roles = {f"{role} {i}": self.start_role(spec, role, i, *flags) for role, i in (("chief", 0), ("ps", 0), ("ps", 1))}
        worker = harness.Process("worker 0", [TRANSFER_WORKER, job, op], self.folder,
                                 {"TF_CONFIG": json.dumps({"cluster": spec, "task": {"type": "worker", "index": 0}})})
        self.processes.append(worker)
        worker.wait_for_line(rf"^{op} 2 begins", 120)
        began = self.packets()
        # A quarter of its packets of 4 KiB is on the wire: half of the transfer is this ps's.
        harness.wait_for(lambda: self.packets() - began > 1024, 30, "the transfer is under way")
        roles["ps 1"].signal(signal.SIGKILL)
        killed = time.monotonic()
        worker.wait_for_line(rf"^{op} \d+ fails", 2)
        print(f"the {op} failed {time.monotonic() - killed:.1f} s after its ps was killed (emulated)")
        self.assertNotIn(f"{op} 2 ends", worker.text())
        self.assertRegex(worker.text(), rf"(?m)^{op} 2 fails: UNAVAILABLE: .*\bps 1\b")
        self.assert_exit([worker, roles["chief 0"], roles["ps 0"]], 4, LEASE + 20)

    @staticmethod
    def packets():
        return int(pathlib.Path("/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts").read_text())

    def test_killed_worker_leaves_the_other_alone(self):
        # Most of a step here is a ps's reading of gradients: the killed one's are being read, mostly, and then not.
        spec = harness.cluster_of(1, 2)
        roles = self.start_cluster(spec, *self.flags(max_steps=1000000, batch_size=2, lease=LEASE, end_linger=5, transport="rdma"))
        for name in ("worker 0", "worker 1"):
            roles[name].wait_for_line(r"step \d+ loss", 120)
        roles["worker 1"].signal(signal.SIGKILL)
        killed = time.monotonic()
        # It trains on at once, and still when the device has given up on the other (8 s).
        for after in (0, 10):
            seen = len(self.lines_of_steps(roles["worker 0"]))
            harness.wait_for(lambda: time.monotonic() > killed + after and len(self.lines_of_steps(roles["worker 0"])) > seen, after + 20,
                             "worker 0 trains on")
        roles["chief 0"].signal(signal.SIGTERM)
        self.assert_exit([r for r in roles.values() if r is not roles["worker 1"]], 0, 60)

    @staticmethod
    def lines_of_steps(role):
        return re.findall(r"step \d+ loss", role.text())

    def test_a_link_that_goes_down_and_up_costs_time_only(self):
        bench = self.start("bench", "bench", "latency", "--transport", "rdma", "--sizes", "4k", "--rounds", "1", "--iters", "300")
        bench.wait_for_line(r"4k: 1 rounds of 300 pushes", 60)
        for state in ("down", "up"):
            subprocess.run(["ip", "link", "set", "eth0", state], check=True)
        self.assertEqual(bench.wait(100), 0, bench.text())
        self.assertIn("result OK (wrong 0)", bench.text())

    def test_bench_has_nothing_wrong(self):
        # From one element on. The larger ones take emulated seconds each.
        for sizes, iters in (("4,1k,64k,1m", 10), ("16m,64m", 1)):
            bench = self.start("bench", "bench", "latency", "--transport", "rdma", "--sizes", sizes, "--iters", iters)
            self.assertEqual(bench.wait(100), 0, bench.text())
            self.assertIn("result OK (wrong 0)", bench.text())
            print(bench.text())

    def test_too_little_lockable_memory(self):
        local = self.start("local", "local", "--transport", "rdma", inside=WITHOUT_LOCKED_MEMORY)
        self.assertEqual(local.wait(30), 2, local.text())
        self.assertIn("--transport rdma: an RDMA device needs locked memory", local.text())
        self.assertIn("the limit is 1024 KiB", local.text())


def on_host(name):
    """What runs inside takes itself for another host than processes inside other names."""
    return ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', name]


class ChosenTest(harness.ClusterTest):
    """--transport auto, the default, of a job whose ps and workers are on two hosts."""

    def start_job(self, **overrides):
        spec = harness.cluster_of(2, 2)
        self.spec = {role: [a.replace("127.0.0.1", "[fd99::1]") for a in addresses] for role, addresses in spec.items()}
        self.job_flags = self.flags(batch_size=2, eval_steps=1, lease=LEASE, end_linger=10, summary=self.folder / "summary.json", **overrides)
        roles = {f"{role} {i}": self.start_member(role, i) for role, i in (("chief", 0), ("ps", 0), ("ps", 1), ("worker", 0))}
        return roles

    def start_member(self, role, index, inside=()):
        return self.start_role(self.spec, role, index, *self.job_flags, inside=[*on_host("b" if role == "worker" else "a"), *inside])

    def summary(self):
        return json.loads((self.folder / "summary.json").read_text())

    def test_it_is_rdma_where_all_have_it(self):
        roles = self.start_job(max_steps=50)
        roles["worker 1"] = self.start_member("worker", 1)
        self.assert_exit(roles.values(), 0, 120)
        result = self.summary()
        self.assertEqual(result["rdma"], {"used": True, "why_not": None})
        self.assertEqual(result["global_step"], 50)
        self.assertEqual(len(result["paths"]), 4)
        for path in result["paths"]:
            self.assertRegex(path["path"], r"^rdma \(messages over ucx rc_\w+/rxe0:1")

    def test_one_member_without_it_is_named_and_all_go_by_tcp(self):
        roles = self.start_job(max_steps=50)
        roles["worker 1"] = self.start_member("worker", 1, inside=WITHOUT_LOCKED_MEMORY)
        self.assert_exit(roles.values(), 0, 120)
        result = self.summary()
        self.assertFalse(result["rdma"]["used"])
        self.assertRegex(result["rdma"]["why_not"], r"^worker 1 \(host b\): an RDMA device needs locked memory")
        self.assertIn(f"weights do not travel by RDMA: {result['rdma']['why_not']}", roles["chief 0"].text())
        self.assertEqual(result["global_step"], 50)
        for path in result["paths"]:
            self.assertIn("ucx tcp", path["path"])

    def test_one_without_it_that_comes_later_is_refused_and_the_job_goes_on(self):
        roles = self.start_job(max_steps=1000000)
        # The chief gives up waiting for worker 1 after ten seconds.
        roles["worker 0"].wait_for_line(r"step \d+ loss", 120)
        late = self.start_member("worker", 1, inside=WITHOUT_LOCKED_MEMORY)
        self.assertEqual(late.wait(60), 2, late.text())
        self.assertIn("the weights of this job travel by RDMA, and this member has none: an RDMA device needs locked memory", late.text())
        able = self.start_member("worker", 1)
        able.wait_for_line(r"step \d+ loss", 60)
        roles["chief 0"].signal(signal.SIGTERM)
        self.assert_exit([*roles.values(), able], 0, 60)
        self.assertTrue(self.summary()["rdma"]["used"])


class WithoutAPortTest(harness.ClusterTest):
    def setUp(self):
        super().setUp()
        subprocess.run(["ip", "link", "set", "eth0", "down"], check=True)

    def tearDown(self):
        subprocess.run(["ip", "link", "set", "eth0", "up"], check=True)
        super().tearDown()

    def test_is_refused_by_name(self):
        for transport in ("rdma", "require-rdma"):
            text = self.refused(2, "local", "--transport", transport, seconds=20)
            self.assertRegex(text, rf"--transport {transport}: no port of an RDMA device is active: rxe0:1 is")


if __name__ == "__main__":
    harness.main()
