"""`trio-kafka token list`: delegation tokens, their owners and their times."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from trio_kafka.cli.admin import TIMEOUT_S, open_cluster
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, columns, declare_json, print_answer
from trio_kafka.cli.token.tokens import moment, principal_option, token_data
from trio_kafka.clients.admin.tokens import DelegationToken

_HEAD: Final = ("id", "owner", "requester", "renewers", "issued", "expires", "ends")
Tokens = Sequence[DelegationToken]


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--owner",
        action="append",
        metavar="TYPE:NAME",
        help="only tokens of this user, or that it may renew; may be repeated",
    )
    parser.add_argument("--show-hmac", action="store_true", help="show their HMACs, the passwords")
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `tokens`")


def list_tokens(
    *, owner: Sequence[str] | None, show_hmac: bool, bootstrap: str, timeout: float, json: bool
) -> int:
    """Show the tokens that you may see: your own, those that you may renew, others by ACLs."""
    owners = None if owner is None else [principal_option("--owner", text) for text in owner]
    with open_cluster(bootstrap, timeout) as admin:
        tokens = sorted(admin.describe_delegation_token(owners), key=lambda token: token.expiry_ms)
    show = partial(as_text, with_hmac=show_hmac)
    return print_answer(tokens, partial(as_data, with_hmac=show_hmac), show, json=json)


def as_data(tokens: Tokens, *, with_hmac: bool = False) -> dict[str, object]:
    """Return the tokens for JSON."""
    return {"tokens": [token_data(token, with_hmac=with_hmac) for token in tokens]}


def as_text(tokens: Tokens, *, with_hmac: bool = False) -> Iterator[str]:
    """Yield the lines of a table."""
    rows = [
        [
            token.token_id,
            token.owner,
            token.requester or "-",
            ",".join(token.renewers) or "-",
            *map(moment, (token.issue_ms, token.expiry_ms, token.max_ms)),
            *([token.password] if with_hmac else ()),
        ]
        for token in tokens
    ]
    head = (*_HEAD, "HMAC") if with_hmac else _HEAD
    yield from columns(head, rows, [LEFT] * len(head))
