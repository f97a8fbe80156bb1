"""Certificates and stores in files, made on the spot."""

from pathlib import Path

from tests.certificates import now
from trio_kafka.attributes import frozen
from trio_kafka.security.tls import development


@frozen
class Identity:
    """A key with its certificate."""

    identity: development.Identity

    @property
    def pem(self) -> str:
        return self.identity.pem

    def key_pem(self, password: str | None = None) -> str:
        return self.identity.key_pem(password)

    def write_pem(self, path: Path, password: str | None = None) -> Path:
        path.write_text(self.key_pem(password) + self.pem)
        return path

    def write_p12(self, path: Path, password: str, *, with_key: bool = True) -> Path:
        """A PKCS12 key store, or a trust store."""
        store = self.identity.key_store if with_key else self.identity.trust_store
        path.write_bytes(store(password))
        return path


def authority(name: str = "authority") -> Identity:
    return Identity(development.Identity.authority(now(), name))


def issued(by: Identity, name: str, *, names: tuple[str, ...] = ("127.0.0.1",)) -> Identity:
    """A certificate for hosts, or for a client where there are none."""
    return Identity(by.identity.issue(now(), name, hosts=names))
