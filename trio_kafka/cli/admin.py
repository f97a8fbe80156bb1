"""Commands on the admin client: opening, one-line errors, and changes that can be tried first.

A change says what it does, and which of Kafka's own commands does the same.
"""

import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypedDict, TypeVar

from attrs import Factory

from trio_kafka.attributes import frozen
from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.broker_client import describe_failure
from trio_kafka.cli.broker_options import VARIABLE, declare_broker
from trio_kafka.cli.client_settings import settings_for, shown_warnings
from trio_kafka.cli.output import declare_json, print_json
from trio_kafka.clients.blocking import BlockingAdmin, open_admin
from trio_kafka.clients.errors import ClientError, UnsupportedError
from trio_kafka.clients.settings.admin import AdminSettings
from trio_kafka.config.setting import ConfigError
from trio_kafka.protocol.texts import printable

K = TypeVar("K")
TIMEOUT_S = 30.0


@contextmanager
def open_cluster(
    bootstrap: str, timeout_s: float, *, unsupported: str | None = None
) -> Iterator[BlockingAdmin]:
    """Open an admin client. Errors end the command: they name broker, topic or group.

    unsupported: what is said of a broker without the APIs; None: the error's own words.
    """
    config = {
        "client.id": "trio-kafka",
        "default.api.timeout.ms": int(timeout_s * 1000),
        "request.timeout.ms": max(int(timeout_s * 1000), 1),
        **settings_for(AdminSettings, bootstrap),
    }
    try:
        with shown_warnings(), open_admin(config, waits_for_broker=False) as admin:
            yield admin
    except ConfigError as error:
        raise CommandFailedError(f"{bootstrap}: {error}") from error
    except ClientError as error:
        is_old = unsupported is not None and isinstance(error, UnsupportedError)
        reason = unsupported if is_old else reason_of(error)
        raise CommandFailedError(f"{bootstrap}: {reason}", FAILED) from error


def reason_of(error: ClientError) -> str:
    """Return what a person can do about an error, or its own words."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionRefusedError):
            return f"connection refused: start a broker there, or set --bootstrap or {VARIABLE}"
        cause = cause.__cause__
    return describe_failure(str(error))


@frozen(kw_only=True)
class Change:
    """A change of the cluster. words: what it is, such as `topic orders: 3 partitions`.

    verb: such as `create`. data: for JSON. kafka: words of Kafka's own command for the same.
    stdin: standard input of that command, for tools that take a file; empty: none.
    """

    verb: str
    words: str
    kafka: Sequence[str] = ()
    stdin: str = ""
    data: Mapping[str, object] = Factory(dict)

    @property
    def kafka_command(self) -> str:
        """Kafka's own command, for bash; empty: there is none."""
        command = shlex.join(self.kafka)
        return f"{command} <<< {shlex.quote(self.stdin)}" if self.stdin else command


class ChangeOptions(TypedDict):
    """Options of `declare_change`."""

    dry_run: bool
    bootstrap: str
    timeout: float
    json: bool


def declare_change(parser: ArgumentParser) -> None:
    """Declare the options of a command that changes the cluster."""
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print what would happen, and Kafka's own command for it; change nothing",
    )
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `dry_run`, `changes`, each with `kafka_command`")


def report(
    changes: Mapping[K, Change],
    errors: Mapping[K, ClientError],
    *,
    dry_run: bool,
    json: bool,
    nothing: str = "",
) -> int:
    """Print what was changed, or would be, and what has failed; return the exit status.

    nothing: why there is nothing to change, if there are no changes.
    """
    done = {key: change for key, change in changes.items() if key not in errors}
    if json:
        rows = [
            {"verb": change.verb, **change.data, "kafka_command": change.kafka_command}
            for change in done.values()
        ]
        print_json({"dry_run": dry_run, "changes": rows})
    elif not changes and nothing:
        print(printable(f"nothing to change: {nothing}"))
    else:
        for change in done.values():
            prefix = "would " if dry_run else "done: "
            print(printable(f"{prefix}{change.verb} {change.words}"))
        if dry_run:
            for command in dict.fromkeys(change.kafka_command for change in done.values()):
                if command:
                    print(printable(f"Kafka's own command: {command}"))
    for error in errors.values():
        print(f"trio-kafka: {printable(str(error))}", file=sys.stderr)
    return FAILED if errors else 0


def parse_pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Return the names and values of options NAME=VALUE. Raises CommandFailedError."""
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise CommandFailedError(f"{option} {text}: want NAME=VALUE")
        pairs[name] = value
    return pairs
