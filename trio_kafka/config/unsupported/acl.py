"""Settings of Kafka's ACL authorizer."""

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import boolean, string


@frozen(kw_only=True)
class AclSettings:
    """Settings of Kafka's ACL authorizer."""

    allow_everyone_if_no_acl_found: bool = boolean(
        False, "Allows access to resources that have no ACL."
    )
    super_users: str = string("", "Principals that may do everything, separated by semicolons.")
