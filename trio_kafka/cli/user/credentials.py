"""Changes of several credentials of a user.

Brokers reject a request that changes a user twice, so the credentials of a user are in requests one
after the other. Source: KIP-554; ScramControlManager of Apache Kafka 4.4.0.
"""

from collections.abc import Iterable, Sequence

from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.users import UserScramCredentialDeletion, UserScramCredentialUpsertion
from trio_kafka.clients.blocking import BlockingAdmin
from trio_kafka.clients.errors import ClientError

Alteration = UserScramCredentialDeletion | UserScramCredentialUpsertion
Credential = tuple[str, str]  # user and mechanism


def alter_credentials(
    admin: BlockingAdmin, alterations: Iterable[Alteration]
) -> Results[Credential, None]:
    """Change credentials. The first request has the first change of each user, and so on.

    The first error of a user ends its changes: those after it are not in the results. An error
    names user and mechanism.
    """
    waiting: dict[str, list[Alteration]] = {}
    for alteration in alterations:
        waiting.setdefault(alteration.user, []).append(alteration)
    results: Results[Credential, None] = Results({}, {})
    while waiting:
        sent = {user: changes.pop(0) for user, changes in waiting.items()}
        errors = admin.alter_user_scram_credentials(sent.values()).errors
        for user, change in sent.items():
            if user in errors:
                results.errors[user, change.mechanism] = _named(errors[user], change)
            else:
                results.values_by_item[user, change.mechanism] = None
        waiting = {
            user: changes for user, changes in waiting.items() if changes and user not in errors
        }
    return results


def _named(error: ClientError, change: Alteration) -> ClientError:
    message = f"user {change.user}: {change.mechanism}: {error.message}"
    return type(error)(message, place=error.place, code=error.code, sent=error.sent)


def kafka_words(bootstrap: str, user: str, option: str, credential: str) -> Sequence[str]:
    """Return the words of Kafka's own command, which takes one credential at a time, too."""
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
        credential,
    ]
