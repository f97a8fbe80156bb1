"""Voters of the controller's quorum, as `controller.quorum.voters` names them: `ID@HOST:PORT`."""

import re
from collections.abc import Iterable
from typing import Final

from trio_kafka.config.setting import ConfigError
from trio_kafka.model import Endpoint

VOTERS: Final = "controller.quorum.voters"
_VOTER: Final = re.compile(r"(?P<id>[0-9]{1,10})@\[?(?P<host>[^\[\]]+)\]?:(?P<port>[0-9]{1,5})")


def parse_voter(text: str) -> tuple[int, Endpoint]:
    """Return the id and the address of a voter. Raises ConfigError."""
    match = _VOTER.fullmatch(text)
    if match is None:
        raise ConfigError(VOTERS, f"{text!r} is not ID@HOST:PORT")
    return int(match["id"]), Endpoint(match["host"], int(match["port"]))


def address_of(node_id: int, voters: Iterable[str]) -> Endpoint | None:
    """Return the address of a node that votes; None if it does not. Raises ConfigError."""
    return dict(map(parse_voter, voters)).get(node_id)
