"""`trio-kafka token renew`: tokens that live longer."""

from argparse import ArgumentParser
from typing import Unpack

from trio_kafka.cli.admin import Change
from trio_kafka.cli.token.tokens import (
    DURATIONS,
    IdOptions,
    change_tokens,
    declare_ids,
    duration_option,
    kafka_words,
    moment,
)
from trio_kafka.clients.admin.tokens import DelegationToken


class Options(IdOptions):
    """Options of the command."""

    period: str | None


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--period",
        metavar="DURATION",
        help=f"time to its new expiry, {DURATIONS} (default: the most that the broker allows)",
    )
    declare_ids(parser)


def renew(**options: Unpack[Options]) -> int:
    """Let tokens live longer, of which you are the owner or a renewer, up to their maximum."""
    period_ms = duration_option("--period", options["period"])

    def describe(token: DelegationToken, expiry_ms: int | None) -> Change:
        until = "" if expiry_ms is None else f": expires {moment(expiry_ms)}"
        return Change(
            verb="renew",
            words=f"token {token.token_id} of {token.owner}{until}",
            kafka=kafka_words(
                options["bootstrap"],
                *("--renew", "--renew-time-period", str(period_ms), "--hmac", "HMAC"),
            ),
            data={"token_id": token.token_id, "expiry_ms": expiry_ms},
        )

    return change_tokens(
        options,
        lambda admin, token: admin.renew_delegation_token(token.hmac, renew_period_ms=period_ms),
        describe,
    )
