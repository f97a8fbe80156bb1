"""`trio-kafka user create`: a user of SCRAM, or another password."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Unpack

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.admin import Change, ChangeOptions, declare_change, open_cluster, report
from trio_kafka.cli.passwords import declare_password, read_password
from trio_kafka.clients.admin.users import scram_upsertion
from trio_kafka.clients.errors import ClientError
from trio_kafka.security.sasl.scram import BY_NAME, SHA_256


class Options(ChangeOptions):
    """Options of the command."""

    user: str
    mechanism: Sequence[str] | None
    iterations: int
    password_file: str | None


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("user", metavar="USER", help="name; another password if it exists")
    parser.add_argument(
        "--mechanism",
        action="append",
        choices=sorted(BY_NAME),
        help="may be repeated (default: both)",
    )
    parser.add_argument(
        "--iterations",
        type=int,
        default=SHA_256.fewest,
        metavar="COUNT",
        help=f"cost of a guess, {SHA_256.fewest} to {SHA_256.most} (default: %(default)s)",
    )
    declare_password(parser)
    declare_change(parser)


def create(**options: Unpack[Options]) -> int:
    """Let a user log in by SCRAM. The broker gets and stores keys of the password, never it."""
    user, iterations = options["user"], options["iterations"]
    mechanisms = sorted(set(options["mechanism"] or BY_NAME))
    if not SHA_256.fewest <= iterations <= SHA_256.most:
        raise CommandFailedError(f"--iterations {iterations}: want 4096 to 16384")
    errors: dict[str, ClientError] = {}
    if not options["dry_run"]:
        password = read_password(options["password_file"], user)
        upsertions = [
            scram_upsertion(user, password, mechanism=mechanism, iterations=iterations)
            for mechanism in mechanisms
        ]
        with open_cluster(options["bootstrap"], options["timeout"]) as admin:
            errors = dict(admin.alter_user_scram_credentials(upsertions).errors)
    credentials = ",".join(
        f"{mechanism}=[iterations={iterations},password=PASSWORD]" for mechanism in mechanisms
    )
    change = Change(
        verb="create",
        words=f"user {user}: {', '.join(mechanisms)} with {iterations} iterations",
        kafka=kafka_words(options["bootstrap"], user, "--add-config", credentials),
        data={"user": user, "mechanisms": mechanisms, "iterations": iterations},
    )
    return report({user: change}, errors, dry_run=options["dry_run"], json=options["json"])


def kafka_words(bootstrap: str, user: str, option: str, credentials: str) -> list[str]:
    """Return the words of Kafka's own command."""
    return [
        "kafka-configs.sh",
        "--bootstrap-server",
        str(bootstrap),
        "--alter",
        "--entity-type",
        "users",
        "--entity-name",
        user,
        option,
        credentials,
    ]
