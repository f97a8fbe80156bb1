"""The directory of definitions: one TOML file for each pipeline, read once at the start."""

from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.world.protocols import Directory
from trio_kafka_builtin.pipelines.definition import (
    ENDING,
    Definition,
    DefinitionError,
    name_of,
    read_definition,
)

LARGEST: Final = 64 << 10  # bytes of a file
MOST: Final = 100  # pipelines


@frozen
class Refused:
    """A file that defines no pipeline, and why."""

    file: str
    error: str


async def read_directory(directory: Directory) -> tuple[list[Definition], list[Refused]]:
    """Read all definitions, in the order of their names. Raises OSError if it cannot be listed.

    An invalid file does not prevent other pipelines from running.
    """
    definitions, refused = list[Definition](), list[Refused]()
    for file in await directory.names_slow():
        if not file.endswith(ENDING) or file.startswith("."):
            continue
        try:
            if len(definitions) >= MOST:
                raise DefinitionError(f"there are {MOST} pipelines already")
            name = name_of(file)
            text = await _read(directory, file)
            definitions.append(read_definition(name, text, directory.path))
        except (DefinitionError, OSError) as error:
            refused.append(Refused(file, str(error)))
    return definitions, refused


async def _read(directory: Directory, name: str) -> str:
    """Read one definition. Raises OSError, DefinitionError."""
    file = directory.open(name)
    try:
        if file.size > LARGEST:
            raise DefinitionError(f"{file.size} bytes, want at most {LARGEST}")
        content = bytearray(file.size)
        size = await file.read(0, content)
    finally:
        file.close()
    try:
        return content[:size].decode()
    except UnicodeDecodeError:
        raise DefinitionError("not UTF-8") from None
