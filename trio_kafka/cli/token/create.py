"""`trio-kafka token create`: a delegation token, with which others act for a user."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Unpack

from trio_kafka.cli.admin import Change, ChangeOptions, declare_change, open_cluster, report
from trio_kafka.cli.token.tokens import (
    DURATIONS,
    duration_option,
    kafka_words,
    moment,
    principal_option,
    token_data,
)
from trio_kafka.clients.admin.tokens import DelegationToken


class Options(ChangeOptions):
    """Options of the command."""

    owner: str | None
    renewer: Sequence[str] | None
    max_lifetime: str | None


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--owner", metavar="TYPE:NAME", help="such as User:ann (default: you); needs CREATE_TOKENS"
    )
    parser.add_argument(
        "--renewer",
        action="append",
        metavar="TYPE:NAME",
        help="another user who may renew and end it; may be repeated",
    )
    parser.add_argument(
        "--max-lifetime",
        metavar="DURATION",
        help=f"{DURATIONS} (default: the most that the broker allows)",
    )
    declare_change(parser)


def create(**options: Unpack[Options]) -> int:
    """Make a token, and print its id and its HMAC: the user and the password of a login by SCRAM
    with `tokenauth=true`. Who has both is the owner to the cluster until the token ends.
    """
    owner = options["owner"]
    if owner is not None:
        owner = principal_option("--owner", owner)
    renewers = [principal_option("--renewer", text) for text in options["renewer"] or ()]
    life_ms = duration_option("--max-lifetime", options["max_lifetime"])
    token: DelegationToken | None = None
    if not options["dry_run"]:
        with open_cluster(options["bootstrap"], options["timeout"]) as admin:
            token = admin.create_delegation_token(
                owner=owner, renewers=renewers, max_lifetime_ms=life_ms
            )
    words = ["--create", "--max-life-time-period", str(life_ms)]
    words += [] if owner is None else ["--owner-principal", owner]
    for renewer in renewers:
        words += ["--renewer-principal", renewer]
    request = {"owner": owner, "renewers": renewers, "max_lifetime_ms": life_ms}
    change = Change(
        verb="create",
        words=f"a token of {owner or 'your user'}" if token is None else _words(token),
        kafka=kafka_words(options["bootstrap"], *words),
        data=request if token is None else token_data(token, with_hmac=True),
    )
    status = report({"": change}, {}, dry_run=options["dry_run"], json=options["json"])
    if token is not None and not options["json"]:
        print(f"id: {token.token_id}")
        print(f"HMAC: {token.password}")
    return status


def _words(token: DelegationToken) -> str:
    ends = f"ends {moment(token.max_ms)} at the latest"
    return f"token {token.token_id} of {token.owner}: expires {moment(token.expiry_ms)}, {ends}"
