"""`trio-kafka user delete`: credentials of users."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Unpack

from trio_kafka.cli.admin import Change, ChangeOptions, declare_change, open_cluster, report
from trio_kafka.cli.user.credentials import alter_credentials, kafka_words
from trio_kafka.clients.admin.users import UserScramCredentialDeletion
from trio_kafka.security.sasl.scram import BY_NAME


class Options(ChangeOptions):
    """Options of the command."""

    user: Sequence[str]
    mechanism: Sequence[str] | None


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("user", nargs="+", metavar="USER", help="name")
    parser.add_argument(
        "--mechanism",
        action="append",
        choices=sorted(BY_NAME),
        help="may be repeated (default: all that the user has)",
    )
    declare_change(parser)


def delete(**options: Unpack[Options]) -> int:
    """Delete users, or some of their credentials. Their connections stay open until they end."""
    dry_run, bootstrap = options["dry_run"], options["bootstrap"]
    with open_cluster(bootstrap, options["timeout"]) as admin:
        described = admin.describe_user_scram_credentials(options["user"])
        deletions = [
            UserScramCredentialDeletion(user, mechanism)
            for user, infos in described.values_by_item.items()
            for mechanism in sorted({*(options["mechanism"] or (info.mechanism for info in infos))})
        ]
        results = alter_credentials(admin, () if dry_run else deletions)
    changes = {
        (change.user, change.mechanism): _change(change, bootstrap)
        for change in deletions
        if dry_run or (change.user, change.mechanism) in results
    }
    unknown = {(user, ""): error for user, error in described.errors.items()}
    errors = unknown | results.errors
    return report(changes, errors, dry_run=dry_run, json=options["json"])


def _change(deletion: UserScramCredentialDeletion, bootstrap: str) -> Change:
    user, mechanism = deletion.user, deletion.mechanism
    return Change(
        verb="delete",
        words=f"user {user}: {mechanism}",
        kafka=kafka_words(bootstrap, user, "--delete-config", mechanism),
        data={"user": user, "mechanism": mechanism},
    )
