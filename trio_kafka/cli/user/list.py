"""`trio-kafka user list`: users of SCRAM and their mechanisms."""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from trio_kafka.cli.admin import TIMEOUT_S, open_cluster
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.clients.admin.users import ScramCredentialInfo

_HEAD: Final = ("user", "mechanism", "iterations")
Users = Mapping[str, Sequence[ScramCredentialInfo]]


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("user", nargs="*", metavar="USER", help="name (default: all users)")
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `users`, each with `credentials`")


def list_users(*, user: Sequence[str], bootstrap: str, timeout: float, json: bool) -> int:
    """Show the users who log in by SCRAM. Users of PLAIN are in the settings of the broker."""
    with open_cluster(bootstrap, timeout) as admin:
        users = admin.describe_user_scram_credentials(user).all()
    return print_answer(users, as_data, as_text, json=json)


def as_data(users: Users) -> dict[str, object]:
    """Return the users for JSON."""
    return {
        "users": [
            {
                "user": name,
                "credentials": [
                    {"mechanism": info.mechanism, "iterations": info.iterations} for info in infos
                ],
            }
            for name, infos in sorted(users.items())
        ]
    }


def as_text(users: Users) -> Iterator[str]:
    """Yield the lines of a table."""
    rows = [
        [name, info.mechanism, str(info.iterations)]
        for name, infos in sorted(users.items())
        for info in infos
    ]
    yield from columns(_HEAD, rows, [LEFT, LEFT, RIGHT])
