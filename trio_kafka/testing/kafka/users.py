"""Users and access control entries of a broker under test, stored as clients store them."""

from typing import Final

from trio_kafka.broker import RunningBroker
from trio_kafka.controls.ask import ask, check
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.messages.k30_create_acls import AclCreation, CreateAclsRequest
from trio_kafka.protocol.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from trio_kafka.security.acls.words import acl_words
from trio_kafka.security.sasl.scram import BY_NAME, printable_salt, salted_password
from trio_kafka.testing.kafka.access import Access

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

_TOO_OLD: Final = ErrorCode.UNSUPPORTED_VERSION


async def store_access(broker: RunningBroker, access: Access) -> None:
    """Store the users of SCRAM and the access control entries, which restarts keep.

    Raises KafkaError, also where the release of Kafka that the broker acts as has no such request.
    """
    try:
        if access.is_scram:
            await _store_users(broker, access)
        if access.entries:
            await _store_acls(broker, access)
    except KafkaError as error:
        if error.code is not _TOO_OLD:
            raise
        reason = "users of SCRAM need Kafka 2.7, acls Kafka 2.0: want a newer release"
        raise KafkaError(_TOO_OLD, f"as_version: {reason}, or mechanism='PLAIN'") from None


async def _store_users(broker: RunningBroker, access: Access) -> None:
    mechanism = BY_NAME[access.mechanism]
    rows = []
    for name, password in access.users.items():
        salt = printable_salt(broker.world.random_bytes)
        salted = salted_password(mechanism, password, salt=salt, iterations=mechanism.fewest)
        rows.append(
            ScramCredentialUpsertion(name, mechanism.number, mechanism.fewest, salt, salted)
        )
    answer = await ask(broker, AlterUserScramCredentialsRequest(upsertions=rows))
    for row in answer.results:
        check(row.error_code, f"user {row.user}: {row.error_message}")


async def _store_acls(broker: RunningBroker, access: Access) -> None:
    rows = [AclCreation(*acl) for acl in access.entries]
    answer = await ask(broker, CreateAclsRequest(creations=rows))
    for acl, row in zip(access.entries, answer.results, strict=True):
        check(row.error_code, f"{acl_words(acl)}: {row.error_message}")
