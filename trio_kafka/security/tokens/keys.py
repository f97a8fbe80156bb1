"""Public keys of an issuer, by id, as its JSON Web Key Set has them (RFC 7517).

Keys are parsed by PyJWT, which is imported on first use: few brokers need it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.strict_json import parse_json

if TYPE_CHECKING:
    from jwt import PyJWK

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512"),
    *("PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512"),
    "EdDSA",
)
"""Algorithms of signatures that are accepted: those with a public key."""
_MOST: Final = 1000  # keys of one issuer


@define(eq=False)
class IssuerKeys:
    """Keys of one issuer. missing: called when a key is asked for that is not known."""

    missing: Callable[[], None] = field(default=lambda: None)
    _keys: "dict[str | None, PyJWK]" = field(factory=dict, init=False)

    def __len__(self) -> int:
        return len(self._keys)

    def replace(self, document: bytes) -> None:
        """Take a key set in place of the last one. Raises ValueError if it has no usable key."""
        from jwt import PyJWK  # noqa: PLC0415 - see above
        from jwt.exceptions import PyJWTError  # noqa: PLC0415

        try:
            rows = parse_json(document)["keys"]
            if not isinstance(rows, list) or len(rows) > _MOST:
                raise ValueError(f"want at most {_MOST} keys")
        except (KeyError, TypeError) as error:
            raise ValueError("not a JSON Web Key Set: want an object with keys") from error
        keys: dict[str | None, PyJWK] = {}
        for row in rows:
            try:
                key = PyJWK(row)
            except (PyJWTError, AttributeError, TypeError, ValueError, KeyError):
                continue  # of a kind that is not known here
            if key.algorithm_name in ALGORITHMS and row.get("use", "sig") == "sig":
                keys[key.key_id] = key
        if not keys:
            raise ValueError("it has no public key for signatures")
        self._keys = keys

    def find(self, key_id: str | None) -> "PyJWK | None":
        """Return a key; without an id the only one. None: it is not known, perhaps not yet."""
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        key = self._keys.get(key_id)
        if key is None:
            self.missing()
        return key
