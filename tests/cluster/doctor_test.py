"""`weir doctor` on this host: its lines, its JSON, its exit codes; whatever is asked for, it ends."""
import json
import os
import subprocess
import time

import harness

NAMES = {"UCX", "UCX transports", "UCX variables", "GPU", "locked memory", "huge pages", "/dev/shm", "SysV shared memory",
         "open files", "ptrace scope", "CPU", "CPU governor", "NUMA", "clock source", "clock", "cluster"}
NOBODY = 65534


class DoctorTest(harness.ClusterTest):
    def doctor(self, *flags, env=None, **options):
        """Exit code and stdout; stderr has what libraries log."""
        environment = {k: v for k, v in os.environ.items() if k != "TF_CONFIG" and not k.startswith("UCX_")}
        done = subprocess.run([harness.WEIR, "doctor", *map(str, flags)], env={**environment, **(env or {})}, timeout=60,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        return done.returncode, done.stdout, done.stderr

    def checks(self, code, *flags, **options):
        """The checks by name; the exit code and the result must go together. Code None: whatever this host deserves."""
        actual, out, err = self.doctor("--json", *flags, **options)
        if code is not None:
            self.assertEqual(actual, code, out + err)
        report = json.loads(out)
        checks = {c["name"]: c for c in report["checks"]}
        self.assertEqual(len(checks), len(report["checks"]), "a name stands twice")
        states = {c["status"] for c in checks.values()}
        self.assertLessEqual(states, {"ok", "warn", "fail"})
        self.assertEqual(report["result"], next(s for s in ("fail", "warn", "ok") if s in states))
        self.assertEqual(actual, 1 if "fail" in states else 0)
        for check in checks.values():
            self.assertEqual(set(check), {"name", "status", "found", "fix"})
            self.assertNotEqual(check["found"], "")
            self.assertEqual(check["fix"] == "", check["status"] == "ok", check)
        return checks

    def cluster_file(self, **cluster):
        path = self.folder / "cluster.json"
        path.write_text(json.dumps({"cluster": cluster, "task": {"type": "ps", "index": 0}}))
        return path

    def test_every_check_is_there(self):
        checks = self.checks(None)
        self.assertLessEqual(NAMES, set(checks))
        self.assertTrue(any(name.startswith("RDMA") for name in checks), checks)
        self.assertIn("tcp", checks["UCX transports"]["found"])
        self.assertIn("host", checks["UCX"]["found"])
        version = subprocess.run([harness.WEIR, "version"], stdout=subprocess.PIPE, text=True).stdout.split()[-1]
        self.assertTrue(checks["UCX"]["found"].startswith(version), checks["UCX"])

    def test_columns_for_people(self):
        _, out, _ = self.doctor()
        lines = out.splitlines()
        self.assertRegex(lines[-1], r"^result: (ok|warn|fail) \(\d+ ok, \d+ warn, \d+ fail\)$")
        self.assertRegex(out, r"(?m)^ok    UCX  +\d+\.\d+\.\d+")
        for line in lines:
            self.assertLessEqual(len(line), 100, line)

    def test_a_loopback_cluster(self):
        checks = self.checks(None, "--tf-config", self.cluster_file(ps=["localhost:2222"], worker=["127.0.0.1:2223"]))
        self.assertIn("loopback", checks["cluster"]["found"])
        self.assertIn("loopback", checks["peer ps 0"]["found"])
        self.assertEqual(checks["peer worker 0"]["status"], "ok")

    def test_a_name_that_leads_nowhere(self):
        path = self.cluster_file(chief=["no-such-host.invalid:2222"], ps=["192.0.2.1:2223"], worker=["192.0.2.1:2224"])
        start = time.monotonic()
        checks = self.checks(1, "--tf-config", path)
        self.assertLess(time.monotonic() - start, 30)
        self.assertEqual(checks["peer chief"]["status"], "fail")
        self.assertIn("no-such-host.invalid:2222 cannot be resolved", checks["peer chief"]["found"])

    def test_devices_that_are_not_there(self):
        checks = self.checks(1, env={"UCX_NET_DEVICES": "nosuch0", "UCX_TLS": "tcp"})
        self.assertIn("no device nosuch0", checks["UCX variables"]["found"])
        self.assertEqual(checks["UCX"]["status"], "fail")

    def test_little_of_everything(self):
        """Limits of its own: too few open files is a fail that names the limit."""
        def lower():
            import resource
            resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
        checks = self.checks(1, preexec_fn=lower)
        self.assertEqual(checks["open files"]["status"], "fail")
        self.assertIn("limit 20;", checks["open files"]["found"])

    def test_without_privileges(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become somebody else; the other tests ran without privileges")
        # The build's folder may be closed to others; the file that is open is not.
        with open(harness.WEIR, "rb") as program:
            done = subprocess.run([f"/proc/self/fd/{program.fileno()}", "doctor", "--json"], user=NOBODY, group=NOBODY, extra_groups=[],
                                  pass_fds=[program.fileno()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        self.assertLessEqual(NAMES, {c["name"] for c in json.loads(done.stdout)["checks"]})

    def test_mistakes(self):
        self.assertIn("did you mean --json?", self.refused(2, "doctor", "--jsn"))
        self.assertIn("weir doctor takes flags only", self.refused(2, "doctor", "now"))
        self.assertIn("cannot be read", self.refused(2, "doctor", "--tf-config", self.folder / "none"))
        self.assertIn("TF_CONFIG", self.refused(2, "doctor", env={"TF_CONFIG": "{"}))
        code, out, _ = self.doctor("--help")
        self.assertEqual(code, 0)
        self.assertIn("--tf-config FILE", out)


if __name__ == "__main__":
    harness.main()
