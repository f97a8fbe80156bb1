"""Tokens for commands: found by their ids, as data, in words, and in Kafka's own command.

A command takes ids and no HMACs, as other users of the machine can read its arguments.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.admin import Change, ChangeOptions, declare_change, open_cluster, report
from trio_kafka.cli.records.times import parse_duration, show_time
from trio_kafka.clients.admin.tokens import DelegationToken
from trio_kafka.clients.blocking import BlockingAdmin
from trio_kafka.clients.errors import ClientError
from trio_kafka.security.principal import parse_principal

_YEAR_9999_MS: Final = 253_402_300_799_999
DURATIONS: Final = "such as 30m, 12h or 7d"


class IdOptions(ChangeOptions):
    """Options of a command that changes tokens."""

    token: Sequence[str]


def declare_ids(parser: ArgumentParser) -> None:
    """Declare the tokens of a change, and its other options."""
    parser.add_argument("token", nargs="+", metavar="ID", help="id of a token")
    declare_change(parser)


def change_tokens(
    options: IdOptions,
    change: Callable[[BlockingAdmin, DelegationToken], int],
    describe: Callable[[DelegationToken, int | None], Change],
) -> int:
    """Change tokens, or only say what would be done; return the exit status.

    change: returns the new expiry. describe: takes it, or None if nothing is changed.
    """
    changes: dict[str, Change] = {}
    errors: dict[str, ClientError] = {}
    with open_cluster(options["bootstrap"], options["timeout"]) as admin:
        tokens = {token.token_id: token for token in admin.describe_delegation_token()}
        for token_id in dict.fromkeys(options["token"]):
            if token_id not in tokens:
                raise CommandFailedError(f"token {token_id}: there is none that you may see", 1)
        for token_id in dict.fromkeys(options["token"]):
            token, expiry_ms = tokens[token_id], None
            try:
                if not options["dry_run"]:
                    expiry_ms = change(admin, token)
            except ClientError as error:
                errors[token_id] = error
            changes[token_id] = describe(token, expiry_ms)
    return report(changes, errors, dry_run=options["dry_run"], json=options["json"])


def token_data(token: DelegationToken, *, with_hmac: bool) -> Mapping[str, object]:
    """Return a token for JSON."""
    data: dict[str, object] = {
        "token_id": token.token_id,
        "owner": token.owner,
        "requester": token.requester,
        "renewers": list(token.renewers),
        "issue_ms": token.issue_ms,
        "expiry_ms": token.expiry_ms,
        "max_ms": token.max_ms,
    }
    return {**data, "hmac": token.password} if with_hmac else data


def moment(time_ms: int) -> str:
    """Return a time in ISO 8601, UTC."""
    return show_time(time_ms) if time_ms <= _YEAR_9999_MS else "never"


def principal_option(option: str, text: str) -> str:
    """Return the principal of an option. Raises CommandFailedError."""
    try:
        return str(parse_principal(text))
    except ValueError as error:
        raise CommandFailedError(f"{option}: {error}") from None


def duration_option(option: str, text: str | None) -> int:
    """Return milliseconds; -1 if the option is not given. Raises CommandFailedError."""
    if text is None:
        return -1
    try:
        return parse_duration(text)
    except ValueError as error:
        raise CommandFailedError(f"{option}: {error}") from None


def kafka_words(bootstrap: str, *words: str) -> list[str]:
    """Return the words of Kafka's own command, which needs a file with a login."""
    tool = ("kafka-delegation-tokens.sh", "--bootstrap-server", str(bootstrap))
    return [*tool, "--command-config", "client.properties", *words]
