"""Random configurations of listeners, mostly valid, for a comparison with Apache Kafka."""

import random
from typing import Final

from tests.config import verdict_table as names
from tests.config.verdict_table import Row

_NAMES: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "IN", "CONTROLLER", "OTHER")
_CONTROLLERS: Final = ("CONTROLLER", "OTHER")
_HOSTS: Final = (*["", "h"] * 4, "0.0.0.0", "127.0.0.1", "[::1]", "10.0.0.1")
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "PLAIN,SCRAM-SHA-512")


def random_row(seed: int) -> Row:
    """Return a configuration; some one in four is accepted."""
    chance = random.Random(seed)
    clients = chance.sample(_NAMES[:4], chance.randint(1, 3))
    controllers = chance.sample(_CONTROLLERS, chance.randint(1, 2))
    listeners = [*clients, *controllers]
    chance.shuffle(listeners)
    changes: dict[str, str | None] = {
        names.LISTENERS: _addresses(chance, listeners),
        names.CONTROLLERS: ",".join(
            _cased(chance, name) for name in controllers if chance.random() < 0.95
        ),
    }
    if chance.random() < 0.9:
        protocols = {name: chance.choice(_PROTOCOLS) for name in _NAMES if chance.random() < 0.97}
        changes[names.MAP] = ",".join(
            f"{_cased(chance, name)}:{_cased(chance, protocol)}"
            for name, protocol in protocols.items()
        )
    if chance.random() < 0.3:
        advertised = [name for name in listeners if chance.random() < 0.8]
        advertised += [chance.choice(_NAMES)] if chance.random() < 0.1 else []
        changes[names.ADVERTISED] = _addresses(chance, list(dict.fromkeys(advertised)))
    if chance.random() < 0.8:
        changes[names.NAME] = _cased(chance, chance.choice(clients * 4 + controllers))
    if names.NAME not in changes or chance.random() < 0.1:
        changes[names.PROTOCOL] = chance.choice(_PROTOCOLS)
    if chance.random() < 0.2:
        changes[names.VOTERS] = chance.choice(("1@h:9", "1@h:9", "1@0.0.0.0:9", "2@h:9"))
    if chance.random() < 0.2:
        changes[names.EARLY] = _cased(chance, chance.choice(listeners * 4 + list(_NAMES)))
    return Row(str(seed), changes | _security(chance))


def _addresses(chance: random.Random, listeners: list[str]) -> str:
    ports = chance.sample(range(1, 30), len(listeners))
    if chance.random() < 0.2:
        ports = [chance.choice((0, 1, 2)) for _ in listeners]
    return ",".join(
        f"{_cased(chance, name)}://{chance.choice(_HOSTS)}:{port}"
        for name, port in zip(listeners, ports, strict=True)
    )


def _cased(chance: random.Random, name: str) -> str:
    return name.lower() if chance.random() < 0.03 else name


def _security(chance: random.Random) -> dict[str, str | None]:
    changes: dict[str, str | None] = {
        names.ENABLED: chance.choice(_MECHANISMS),
        names.BETWEEN: chance.choice(("PLAIN", "PLAIN", "SCRAM-SHA-256", "GSSAPI")),
        names.TO_CONTROLLER: chance.choice(("PLAIN", "SCRAM-SHA-256")),
    }
    for name in map(str.lower, _NAMES):
        if chance.random() < 0.2:
            changes[f"listener.name.{name}.{names.ENABLED}"] = chance.choice(_MECHANISMS)
        if chance.random() < 0.95:
            changes[f"listener.name.{name}.plain.{names.JAAS}"] = names.PLAIN_LOGIN
        for mechanism in ("scram-sha-256", "scram-sha-512"):
            changes[f"listener.name.{name}.{mechanism}.{names.JAAS}"] = names.SCRAM_LOGIN
    return changes
