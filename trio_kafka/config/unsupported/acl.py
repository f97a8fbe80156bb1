"""What Kafka's authorizer for ACLs will obey."""

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import boolean, string


@frozen(kw_only=True)
class AclSettings:
    """What Kafka's authorizer for ACLs will obey."""

    allow_everyone_if_no_acl_found: bool = boolean(
        False, "What no ACL speaks of is allowed to everyone."
    )
    super_users: str = string("", "Principals that may do everything, separated by semicolons.")
