"""Values of Kafka's `ssl.*` settings of one listener or client. Source: KIP-651 for PEM."""

from collections.abc import Callable
from typing import Final, Self

import attrs
from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import ConfigError

PEM: Final = "PEM"
_STORES: Final = ("", "JKS", PEM, "PKCS12")


@frozen(kw_only=True)
class TlsSettings:
    """One field is one setting: `keystore_type` is `ssl.keystore.type`. Secrets are not shown.

    A type "" or JKS means that the content of the file decides: Java's JKS store reads PKCS12, too.
    """

    keystore_type: str = "JKS"
    keystore_location: str | None = None
    keystore_password: str | None = field(default=None, repr=False)
    keystore_certificate_chain: str | None = field(default=None, repr=False)
    keystore_key: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    truststore_type: str = "JKS"
    truststore_location: str | None = None
    truststore_password: str | None = field(default=None, repr=False)
    truststore_certificates: str | None = field(default=None, repr=False)
    enabled_protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    protocol: str = "TLSv1.3"
    cipher_suites: tuple[str, ...] = ()
    client_auth: str = "none"
    endpoint_identification_algorithm: str | None = "https"

    @classmethod
    def from_values(cls, value_of: Callable[[str], object]) -> Self:
        """Return the settings. value_of: returns the value of a setting by Kafka's name."""
        make: Callable[..., Self] = cls  # the values have the types of their settings
        return make(**{each.name: value_of(name_of(each.name)) for each in attrs.fields(cls)})

    @classmethod
    def from_fields(cls, settings: object) -> Self:
        """Return the settings of an object with fields as `ssl_keystore_type`."""
        names = [
            field.name for field in attrs.fields(cls) if hasattr(settings, f"ssl_{field.name}")
        ]
        return cls(**{name: getattr(settings, f"ssl_{name}") for name in names})

    @property
    def trusts_public_authorities(self) -> bool:
        """Whether clients may have certificates of the authorities that this machine trusts."""
        has_store = self.truststore_location or self.truststore_certificates
        return self.client_auth != "none" and not has_store

    def check(self) -> None:
        """Raise ConfigError for stores that contradict themselves, as Kafka does."""
        self._check_keystore()
        self._check_truststore()

    def _check_keystore(self) -> None:
        if self.keystore_key is not None:
            _need_pem("ssl.keystore", "key", self.keystore_type)
            if self.keystore_certificate_chain is None:
                raise ConfigError("ssl.keystore.certificate.chain", "is missing beside its key")
            _need_alone("ssl.keystore.key", "ssl.keystore.location", self.keystore_location)
            _need_alone("ssl.keystore.key", "ssl.keystore.password", self.keystore_password)
        elif self.keystore_certificate_chain is not None:
            raise ConfigError("ssl.keystore.key", "is missing beside its certificate chain")
        _check_file(
            "ssl.keystore",
            self.keystore_type,
            location=self.keystore_location,
            password=self.keystore_password,
        )

    def _check_truststore(self) -> None:
        if self.truststore_certificates is not None:
            setting = "ssl.truststore.certificates"
            _need_pem("ssl.truststore", "certificates", self.truststore_type)
            _need_alone(setting, "ssl.truststore.location", self.truststore_location)
            _need_alone(setting, "ssl.truststore.password", self.truststore_password)
        _check_file(
            "ssl.truststore",
            self.truststore_type,
            location=self.truststore_location,
            password=self.truststore_password,
        )


def name_of(field_name: str) -> str:
    """Return Kafka's name of a field of `TlsSettings`."""
    return f"ssl.{field_name.replace('_', '.')}"


def _need_pem(store: str, part: str, kind: str) -> None:
    if kind not in ("", PEM):
        reason = f"can only be given with {store}.type=PEM, and the type is {kind}"
        raise ConfigError(f"{store}.{part}", reason)


def _need_alone(setting: str, other: str, value: str | None) -> None:
    if value is not None:
        raise ConfigError(setting, f"stands beside {other}: remove one of them")


def _check_file(store: str, kind: str, *, location: str | None, password: str | None) -> None:
    if kind.upper() not in _STORES:
        raise ConfigError(f"{store}.type", f"{kind!r} is not supported: want PEM or PKCS12")
    if location is None and password is not None:
        raise ConfigError(f"{store}.location", f"is missing beside {store}.password")
    if kind == PEM and location is not None and password is not None:
        reason = "PEM files have no password: set ssl.key.password for an encrypted key"
        raise ConfigError(f"{store}.password", reason)
