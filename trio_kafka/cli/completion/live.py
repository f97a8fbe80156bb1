"""Names that a cluster or the user's files have now, for completion: fast, and silent."""

import io
import re
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stderr, suppress
from typing import TYPE_CHECKING, Final

from trio_kafka.cli import LATER, CommandFailedError
from trio_kafka.cli.broker_options import declare_broker

if TYPE_CHECKING:
    from trio_kafka.cli.broker_client import SendRequest
    from trio_kafka.model import Endpoint

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
    """Return the groups of the cluster, of all brokers that answer in time; see `topics`."""
    from trio_kafka.cli.broker_client import open_client, parse_addresses  # noqa: PLC0415 - 0.1 s

    try:
        addresses = parse_addresses(_bootstrap(words))
        with open_client(addresses, TIMEOUT_S, unknown="") as send:
            names, others = first_groups(send)
    except CommandFailedError:
        return []
    end = time.monotonic() + TIMEOUT_S
    for remaining, address in zip(range(len(others), 0, -1), others, strict=True):
        share_s = max(end - time.monotonic(), 0.0) / remaining
        with suppress(CommandFailedError), open_client(address, share_s, unknown="") as send:
            names |= _groups_of(send)
    return _plain(sorted(names))


def first_groups(send: "SendRequest") -> "tuple[set[str], list[Endpoint]]":
    """Return the groups of the broker that answers, and the brokers to ask for others, if any."""
    from trio_kafka.model import Endpoint  # noqa: PLC0415 - as above
    from trio_kafka.protocol.messages.k03_metadata import (  # noqa: PLC0415 - as above
        MetadataRequest,
    )

    brokers = send(MetadataRequest([], allow_auto_topic_creation=False)).brokers
    # Which of several brokers has answered is not known.
    others = [Endpoint(row.host, row.port) for row in brokers] if len(brokers) > 1 else []
    return _groups_of(send), others


def _groups_of(send: "SendRequest") -> set[str]:
    from trio_kafka.protocol.messages.k16_list_groups import (  # noqa: PLC0415 - as above
        ListGroupsRequest,
    )

    return {row.group_id for row in send(ListGroupsRequest()).groups}


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
