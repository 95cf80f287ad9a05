"""Certificates for a test's cluster, made with the openssl command."""
import subprocess


def _openssl(*arguments):
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


class Authority:
    """A certificate authority in a folder of its own."""

    def __init__(self, folder, name):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.name = folder, name
        self.certificate, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 1,
                 "-subj", f"/CN={name}", "-keyout", self.key, "-out", self.certificate)

    def issue(self, name, alternative_names="DNS:localhost,IP:127.0.0.1", days=1):
        """(certificate, key), as paths."""
        certificate, key, request = (self.folder / f"{name}.{kind}" for kind in ("pem", "key", "csr"))
        extension = self.folder / f"{name}.ext"
        extension.write_text(f"subjectAltName={alternative_names}\n")
        _openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                 "-keyout", key, "-out", request)
        _openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial",
                 "-days", days, "-extfile", extension, "-out", certificate)
        key.chmod(0o600)
        return certificate, key

    def flags(self, name, **options):
        """What a process with a fresh certificate of this authority is given."""
        certificate, key = self.issue(name, **options)
        return ["--tls-cert", certificate, "--tls-key", key, "--tls-ca", self.certificate]
