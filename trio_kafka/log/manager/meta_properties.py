"""`meta.properties`: the identity of a log directory.

Source: KIP-631, KIP-858; the format of Kafka's file, version 1.
"""

from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.errors import LogDirError
from trio_kafka.log.files.checkpoints import read_file, replace_file
from trio_kafka.model import NodeId
from trio_kafka.world.protocols import Directory

NAME: Final = "meta.properties"


@frozen(kw_only=True)
class MetaProperties:
    """Identity of a log directory.

    Ids are texts of 22 characters; a cluster id may be any text.
    """

    node_id: NodeId
    cluster_id: str
    directory_id: str | None = None

    def encode(self) -> bytes:
        """Return the content of the file.

        Comments come first, as in a properties file written by Java.
        """
        lines = ["#", f"node.id={self.node_id}"]
        if self.directory_id is not None:
            lines.append(f"directory.id={self.directory_id}")
        return "\n".join([*lines, "version=1", f"cluster.id={self.cluster_id}", ""]).encode()


async def read_meta_properties(directory: Directory) -> MetaProperties | None:
    """Read the identity of a directory; None: it was never formatted.

    Raises LogDirError with the line.
    """
    try:
        content = await read_file(directory, NAME)
        return None if content is None else decode(content)
    except ValueError as error:
        raise _refused(directory, str(error)) from None


def decode(content: bytes) -> MetaProperties:
    """Return the identity in the content of a file. Raises ValueError, which names the line."""
    values: dict[str, str] = {}
    for number, raw in enumerate(content.decode("utf-8", "replace").split("\n"), 1):
        line = raw.strip()
        if not line or line[0] in "#!":
            continue
        key, separator, value = line.partition("=")
        if not separator:
            raise ValueError(f"line {number} is {line[:60]!r}, want name=value")
        values[key.strip()] = value.strip().replace("\\", "")
    # In this order: another version may have other names.
    if (version := _value(values, "version")) != "1":
        raise ValueError(f"version is {version!r}, want 1")
    node = _value(values, "node.id")
    try:
        node_id = NodeId(int(node))
    except ValueError:
        raise ValueError(f"node.id is {node!r}, want a number") from None
    return MetaProperties(
        node_id=node_id,
        cluster_id=_value(values, "cluster.id"),
        directory_id=values.get("directory.id"),
    )


def _value(values: dict[str, str], name: str) -> str:
    if name not in values:
        raise ValueError(f"{name} is missing")
    return values[name]


def _refused(directory: Directory, problem: str) -> LogDirError:
    return LogDirError(
        directory.path,
        f"{NAME}: {problem}. Restore the file from a backup; its lines are version=1, node.id=,"
        " cluster.id= (see `broker started` in earlier log lines) and directory.id=",
    )


async def write_meta_properties(directory: Directory, properties: MetaProperties) -> None:
    """Write the identity of the directory, durably."""
    await replace_file(directory, NAME, properties.encode())
