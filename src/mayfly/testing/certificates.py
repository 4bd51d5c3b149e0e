"""Certificates for the TLS listener, made on the fly by the `openssl` command: an authority, a good one, three bad.

Nothing is kept and nothing is secret: keys live in a folder of the caller's and are good for a day.
"""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mayfly.errors import RunError

_CONFIG = """[req]
distinguished_name = name
prompt = no
[name]
CN = {common}
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
[host]
basicConstraints = CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = {names}
[alone]
basicConstraints = CA:FALSE
subjectAltName = {names}
"""


@dataclass(frozen=True, slots=True)
class Certificates:
    """A context for the server, which shows each host its own certificate; and the authority a client may trust."""

    context: ssl.SSLContext
    authority: Path


def openssl_missing() -> str | None:
    """Why there can be no certificates, if there cannot."""
    return None if shutil.which("openssl") else "the openssl command is not installed"


def make_certificates(folder: Path, names: Iterable[str]) -> Certificates:
    """Certificates good for these host names; `self-signed.test`, `expired.test` and `wrong-name.test` get bad ones."""
    if reason := openssl_missing():
        raise RunError(f"no certificates can be made: {reason}")
    folder.mkdir(parents=True, exist_ok=True)
    maker = _Maker(folder)
    maker.alone("authority", "Mayfly test authority", ["authority.test"], "authority")
    good = sorted(set(names) - {"self-signed.test", "expired.test", "wrong-name.test"}) or ["localhost"]
    by_host = {
        "self-signed.test": maker.alone("self-signed", "self-signed.test", ["self-signed.test"], "alone"),
        "expired.test": maker.signed("expired", ["expired.test"], days=-1),
        "wrong-name.test": maker.signed("wrong-name", ["somebody-else.test"], days=1),
    }
    contexts = {host: _context(path) for host, path in by_host.items()}
    context = _context(maker.signed("good", good, days=1))

    def choose(connected: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> None:
        connected.context = contexts.get((name or "").lower(), context)

    context.sni_callback = choose
    return Certificates(context, folder / "authority.crt")


class _Maker:
    """Runs `openssl` in one folder. A certificate and its key share a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def alone(self, file: str, common: str, names: list[str], section: str) -> Path:
        """A certificate signed with its own key."""
        key, config = self._key(file), self._config(file, common, names)
        self._run("req", "-new", "-x509", "-sha256", "-key", key, "-config", config, "-extensions", section,
                  "-days", "1", "-out", f"{file}.crt")  # fmt: skip
        return self._joined(file)

    def signed(self, file: str, names: list[str], days: int) -> Path:
        """A certificate signed by the authority."""
        key, config = self._key(file), self._config(file, names[0][:60], names)
        self._run("req", "-new", "-sha256", "-key", key, "-config", config, "-out", f"{file}.csr")
        self._run("x509", "-req", "-sha256", "-in", f"{file}.csr", "-CA", "authority.crt", "-CAkey", "authority.key",
                  "-CAcreateserial", "-extfile", config, "-extensions", "host", "-days", str(days),
                  "-out", f"{file}.crt")  # fmt: skip
        return self._joined(file)

    def _key(self, file: str) -> str:
        self._run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{file}.key")
        return f"{file}.key"

    def _config(self, file: str, common: str, names: list[str]) -> str:
        text = _CONFIG.format(common=common, names=",".join(f"DNS:{name}" for name in names))
        (self._folder / f"{file}.cnf").write_text(text)
        return f"{file}.cnf"

    def _joined(self, file: str) -> Path:
        path = self._folder / f"{file}.pem"
        path.write_bytes(b"".join((self._folder / f"{file}{end}").read_bytes() for end in (".crt", ".key")))
        return path

    def _run(self, *words: str) -> None:
        done = subprocess.run(["openssl", *words], cwd=self._folder, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RunError(f"openssl {words[0]} failed: {done.stderr.strip()[-300:]}")


def _context(path: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context
