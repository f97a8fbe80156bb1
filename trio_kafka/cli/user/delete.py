"""`trio-kafka user delete`: credentials of users."""

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import Unpack

from trio_kafka.cli.admin import Change, ChangeOptions, declare_change, open_cluster, report
from trio_kafka.cli.user.create import kafka_words
from trio_kafka.clients.admin.users import UserScramCredentialDeletion
from trio_kafka.clients.errors import ClientError
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
    errors: dict[str, ClientError] = {}
    with open_cluster(options["bootstrap"], options["timeout"]) as admin:
        described = admin.describe_user_scram_credentials(options["user"])
        errors |= described.errors
        mechanisms = {
            user: sorted(options["mechanism"] or (info.mechanism for info in infos))
            for user, infos in described.values_by_item.items()
        }
        if not options["dry_run"] and mechanisms:
            deletions = [
                UserScramCredentialDeletion(user, mechanism)
                for user, names in mechanisms.items()
                for mechanism in names
            ]
            errors |= admin.alter_user_scram_credentials(deletions).errors
    changes = _changes(mechanisms, options["bootstrap"])
    return report(changes, errors, dry_run=options["dry_run"], json=options["json"])


def _changes(mechanisms: Mapping[str, Sequence[str]], bootstrap: str) -> dict[str, Change]:
    return {
        user: Change(
            verb="delete",
            words=f"user {user}: {', '.join(names)}",
            kafka=kafka_words(bootstrap, user, "--delete-config", ",".join(names)),
            data={"user": user, "mechanisms": list(names)},
        )
        for user, names in mechanisms.items()
    }
