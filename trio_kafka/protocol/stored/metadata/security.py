"""Metadata records of access control, SCRAM credentials and delegation tokens."""

from trio_kafka.protocol.schema import array, bytes_, int8, int32, int64, record, string, uuid


@record(key=18, versions="0", flexible="0+")
class AccessControlEntryRecord:
    """Access control entry."""

    id: bytes = uuid()
    resource_type: int = int8()
    resource_name: str = string()
    pattern_type: int = int8()
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


@record(key=19, versions="0", flexible="0+")
class RemoveAccessControlEntryRecord:
    """Removal of an access control entry."""

    id: bytes = uuid()


@record(key=11, versions="0", flexible="0+")
class UserScramCredentialRecord:
    """SCRAM credential of a user."""

    name: str = string()
    mechanism: int = int8()
    salt: bytes = bytes_()
    stored_key: bytes = bytes_()
    server_key: bytes = bytes_()
    iterations: int = int32()


@record(key=22, versions="0", flexible="0+")
class RemoveUserScramCredentialRecord:
    """Removal of a SCRAM credential."""

    name: str = string()
    mechanism: int = int8()


@record(key=10, versions="0", flexible="0+")
class DelegationTokenRecord:
    """Delegation token, or its new expiry."""

    owner: str = string()
    requester: str = string()
    renewers: list[str] = array(string)
    issue_timestamp: int = int64()
    max_timestamp: int = int64()
    expiration_timestamp: int = int64()
    token_id: str = string()


@record(key=26, versions="0", flexible="0+")
class RemoveDelegationTokenRecord:
    """Removal of a delegation token."""

    token_id: str = string()
