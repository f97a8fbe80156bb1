"""Identity of log directories: `meta.properties` is checked, and written into an empty one.

Source: KIP-631; directory ids: KIP-858.
"""

from collections.abc import Iterable

from trio_kafka.log.files.partition_metadata import format_id
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.meta_properties import MetaProperties, write_meta_properties
from trio_kafka.world.world import World


class IdentityError(Exception):
    """Raised for a log directory of another node or cluster, or one that was never formatted."""


def check_identity(directories: Iterable[LogDirectory], identity: MetaProperties) -> None:
    """Check that all formatted directories belong to `identity`, and their ids differ.

    At least one must be formatted. Raises IdentityError.
    """
    directories = tuple(directories)
    formatted = [
        (directory.path, directory.properties) for directory in directories if directory.properties
    ]
    if directories and not formatted:
        paths = ", ".join(directory.path for directory in directories)
        raise IdentityError(f"no log directory is formatted: {paths}")
    seen: dict[str, str] = {}
    for path, properties in formatted:
        wrong = (properties.node_id, properties.cluster_id)
        want = (identity.node_id, identity.cluster_id)
        if wrong != want:
            raise IdentityError(
                f"{path} is of node {wrong[0]} of cluster {wrong[1]}, "
                f"this is node {want[0]} of cluster {want[1]}"
            )
        unique = properties.directory_id or path
        if unique in seen:
            raise IdentityError(f"{path} and {seen[unique]} have one directory id")
        seen[unique] = path


async def format_directory(world: World, directory: LogDirectory, identity: MetaProperties) -> None:
    """Write `identity`, with a new directory id, into an empty directory, or fail it."""
    properties = MetaProperties(
        node_id=identity.node_id,
        cluster_id=identity.cluster_id,
        directory_id=new_directory_id(world),
    )
    try:
        await write_meta_properties(directory.root, properties)
    except OSError as error:
        directory.fail(error)
    directory.properties = properties


def new_directory_id(world: World) -> str:
    """Return a new id. The first hundred are reserved, and none begins with a dash."""
    while True:
        text = format_id(world.random_bytes(16))
        if not text.startswith("-"):
            return text
