"""Mutual TLS on the control plane: whole clusters under it, and who is refused, by name and reason."""
import json
import unittest

import certificates
import harness


class TlsTest(harness.ClusterTest):
    def setUp(self):
        super().setUp()
        self.authority = certificates.Authority(self.folder / "pki", "cluster-ca")
        self.other = certificates.Authority(self.folder / "other", "other-ca")
        self.spec = harness.cluster_of(1, 1)
        self.chief = self.spec["chief"][0]

    def quick(self, **overrides):
        return self.flags(**{"max_steps": 20, "batch_size": 16, **overrides})

    def start_secured(self, *flags):
        """Every task with a certificate of its own."""
        return {f"{role} 0": self.start_role(self.spec, role, 0, *flags, *self.authority.flags(f"{role}-0"))
                for role in self.spec}

    def test_a_cluster_trains(self):
        roles = self.start_secured(*self.quick())
        self.assert_exit(roles.values(), 0, 90)
        self.assertRegex(roles["worker 0"].text(), r"step \d+ loss \d")
        self.assertNotIn("TLS:", "".join(role.text() for role in roles.values()))

    def test_local_trains(self):
        process = self.start("local", "local", *self.quick(), *self.authority.flags("everybody"))
        self.assertEqual(process.wait(90), 0, process.text())

    def test_status_and_strangers(self):
        roles = self.start_secured(*self.quick(max_steps=1000000))
        roles["worker 0"].wait_for_line(r"step \d+ loss", 60)
        ask = ["status", "--chief", self.chief, "--json"]
        status = self.start("status", *ask, *self.authority.flags("operator"))
        self.assertEqual(status.wait(10), 0, status.text())
        self.assertEqual({m["state"] for m in json.loads(status.text())["members"]}, {"joined"})

        plain = self.refused(2, *ask)
        self.assertIn(f"chief at {self.chief}: it speaks TLS, and this process does not", plain)
        stranger = self.refused(2, *ask, *self.other.flags("stranger"))
        self.assertIn(f"chief at {self.chief}: its certificate is not accepted: self-signed certificate", stranger)
        certificate, key = self.other.issue("spy")
        both = self.folder / "both.pem"
        both.write_text(self.authority.certificate.read_text() + self.other.certificate.read_text())
        spy = self.refused(2, *ask, "--tls-cert", certificate, "--tls-key", key, "--tls-ca", both)
        self.assertIn(f"chief at {self.chief}: it does not accept this process's certificate", spy)
        self.assertIn("CN=spy, issued by CN=other-ca", spy)
        self.assertIn("its --tls-ca is CN=cluster-ca", spy)
        log = roles["chief 0"].text()
        self.assertEqual(log.count("the handshake with a peer failed: its certificate is not accepted"), 1, log)
        self.assertEqual(log.count("the handshake with a peer failed: it does not speak TLS"), 1, log)
        self.assertIsNone(roles["worker 0"].code(), "the job goes on")

    def test_a_member_without_tls_is_told_so_at_once(self):
        self.start_role(self.spec, "chief", 0, *self.quick(), *self.authority.flags("chief-0"))
        worker = self.start_role(self.spec, "worker", 0, *self.quick())
        self.assertEqual(worker.wait(20), 2, worker.text())
        self.assertIn(f"chief at {self.chief}: it speaks TLS, and this process does not", worker.text())

    def test_a_chief_without_tls_is_named_at_once(self):
        chief = self.start_role(self.spec, "chief", 0, *self.quick())
        ps = self.start_role(self.spec, "ps", 0, *self.quick(), *self.authority.flags("ps-0"))
        self.assertEqual(ps.wait(20), 2, ps.text())
        self.assertIn(f"chief at {self.chief}: it does not speak TLS", ps.text())
        self.assertIsNone(chief.code())

    def test_a_certificate_for_another_name_is_refused(self):
        elsewhere = self.authority.flags("chief-0", alternative_names="DNS:elsewhere.example")
        self.start_role(self.spec, "chief", 0, *self.quick(), *elsewhere)
        ps = self.start_role(self.spec, "ps", 0, *self.quick(), *self.authority.flags("ps-0"))
        self.assertEqual(ps.wait(20), 2, ps.text())
        self.assertRegex(ps.text(), rf"chief at {self.chief}: its certificate is not accepted: .* mismatch")

    def test_bad_files_end_the_start(self):
        certificate, key = self.authority.issue("chief-0")
        _, expired_key = expired = self.authority.issue("expired", days=-1)
        ca = self.authority.certificate
        for flags, says in [
                (["--tls-cert", certificate], "--tls-key, --tls-ca are missing"),
                (["--tls-cert", certificate, "--tls-key", expired_key, "--tls-ca", ca], "is not the key of"),
                (["--tls-cert", expired[0], "--tls-key", expired_key, "--tls-ca", ca], "certificate has expired"),
                (["--tls-cert", certificate, "--tls-key", key, "--tls-ca", self.folder / "none"], "cannot be read")]:
            for command in (["status", "--chief", self.chief], ["local", *self.quick()]):
                self.assertIn(says, self.refused(2, *command, *flags, seconds=10))

    def test_a_renewed_certificate_counts_while_the_job_runs(self):
        roles = self.start_secured(*self.quick(max_steps=1000000))
        roles["worker 0"].wait_for_line(r"step \d+ loss", 60)
        pki = self.folder / "pki"
        half = (pki / "chief-0.pem").read_text()
        (pki / "chief-0.pem").write_text(half[:len(half) // 2])
        status = ["status", "--chief", self.chief, *self.authority.flags("operator")]
        (pki / "operator.key").chmod(0o644)
        first = self.start("status", *status)
        self.assertEqual(first.wait(10), 0, first.text())
        self.assertRegex(first.text(), "operator.key: everybody on this machine can read it")
        roles["chief 0"].wait_for_line("TLS: stays with the certificate it has: --tls-cert .*chief-0.pem", 10)
        self.authority.issue("chief-0")
        self.assertEqual(self.start("status", *status).wait(10), 0)
        roles["chief 0"].wait_for_line("TLS: new connections use the certificate now in .*chief-0.pem", 10)
        self.assertIsNone(roles["worker 0"].code(), "its session goes on")


if __name__ == "__main__":
    harness.main()
