"""`trio-kafka user create`: a user of SCRAM, or another password."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Unpack

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.admin import Change, ChangeOptions, declare_change, open_cluster, report
from trio_kafka.cli.passwords import declare_password, read_password
from trio_kafka.cli.user.credentials import alter_credentials, kafka_words
from trio_kafka.clients.admin.users import scram_upsertion
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
    changes = {
        (user, mechanism): Change(
            verb="create",
            words=f"user {user}: {mechanism} with {iterations} iterations",
            kafka=kafka_words(
                options["bootstrap"],
                user,
                "--add-config",
                f"{mechanism}=[iterations={iterations},password=PASSWORD]",
            ),
            data={"user": user, "mechanism": mechanism, "iterations": iterations},
        )
        for mechanism in mechanisms
    }
    if options["dry_run"]:
        return report(changes, {}, dry_run=True, json=options["json"])
    password = read_password(options["password_file"], user)
    upsertions = [
        scram_upsertion(user, password, mechanism=mechanism, iterations=iterations)
        for mechanism in mechanisms
    ]
    with open_cluster(options["bootstrap"], options["timeout"]) as admin:
        results = alter_credentials(admin, upsertions)
    tried = {key: change for key, change in changes.items() if key in results}
    return report(tried, results.errors, dry_run=False, json=options["json"])
