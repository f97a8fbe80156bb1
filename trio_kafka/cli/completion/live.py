"""Names that a cluster or the user's files have now, for completion: fast, and silent."""

import io
import re
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stderr
from typing import Final

from trio_kafka.cli import LATER, CommandFailedError
from trio_kafka.cli.broker_options import declare_broker

TIMEOUT_S: Final = 0.3
# Other characters would have to be quoted, and could command the terminal.
_PLAIN: Final = re.compile(r"[\w.@:/+-]+")


def topics(words: Sequence[str]) -> list[str]:
    """Return the topics of the cluster that the words of a command name; none if it is silent."""
    from trio_kafka.cli.broker_client import open_client, parse_addresses  # noqa: PLC0415 - 0.1 s
    from trio_kafka.cli.topics import all_topics  # noqa: PLC0415 - as above

    try:
        addresses = parse_addresses(_bootstrap(words))
        with open_client(addresses, TIMEOUT_S, unknown="") as send:
            rows = all_topics(send)
    except CommandFailedError:
        return []
    return _plain(row.name or "" for row in rows if not row.is_internal)


def groups(words: Sequence[str]) -> list[str]:
    """Return the groups that the first broker of the cluster coordinates; see `topics`."""
    from trio_kafka.cli.broker_client import open_client, parse_addresses  # noqa: PLC0415 - 0.1 s
    from trio_kafka.protocol.messages.k16_list_groups import (  # noqa: PLC0415 - as above
        ListGroupsRequest,
    )

    try:
        addresses = parse_addresses(_bootstrap(words))
        with open_client(addresses, TIMEOUT_S, unknown="") as send:
            rows = send(ListGroupsRequest()).groups
    except CommandFailedError:
        return []
    return _plain(row.group_id for row in rows)


def profiles(_words: Sequence[str]) -> list[str]:
    """Return the names of profiles."""
    from trio_kafka.cli.saved_profiles import read_profiles  # noqa: PLC0415 - only then

    try:
        return list(read_profiles().profiles)
    except CommandFailedError:
        return []


NAMES: Final[Mapping[str, Callable[[Sequence[str]], list[str]]]] = {
    "topic": topics,
    "group": groups,
    "profile": profiles,
}
"""Functions by the destination of an option or argument."""


def _bootstrap(words: Sequence[str]) -> str:
    """Return the address of the cluster that options, variables or profiles name.

    Raises CommandFailedError.
    """
    parser = ArgumentParser(allow_abbrev=False)
    declare_broker(parser)
    try:
        with redirect_stderr(io.StringIO()):
            values = vars(parser.parse_known_args(words)[0])
            for key in [key for key in values if key.startswith(LATER)]:
                values.pop(key)(values)
    except SystemExit as error:
        raise CommandFailedError("options without values") from error
    return str(values["bootstrap"])


def _plain(names: Iterable[str]) -> list[str]:
    return [name for name in names if _PLAIN.fullmatch(name)]
