"""Reading of the log directories."""

from collections.abc import Sequence

from trio_kafka.introspect.facts.storage import DirectoryFacts
from trio_kafka.plugin_host.state_access import read_directories_as
from trio_kafka.requests.parts import Parts
from trio_kafka.security.principal import Principal


async def read_directories(
    parts: Parts, principal: Principal, *, sizes: bool = False
) -> Sequence[DirectoryFacts]:
    """Return facts of all log directories, with syncs under way.

    sizes: with the bytes of their logs, which takes 1 µs for each segment. Raises KafkaError.
    """
    return await read_directories_as(principal, parts, sizes=sizes)
