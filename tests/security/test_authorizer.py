"""The authorizer that allows everything."""

from trio_kafka.security.authorizer import ALLOW_ALL, Authorizer
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import NOBODY
from trio_kafka.security.resources import THE_CLUSTER, ResourceType


def test_everything_is_allowed() -> None:
    authorizer: Authorizer = ALLOW_ALL

    assert authorizer.authorize(NOBODY, "10.0.0.1", Operation.ALTER, THE_CLUSTER)
    assert authorizer.authorize_any(NOBODY, "10.0.0.1", Operation.WRITE, ResourceType.TOPIC)
