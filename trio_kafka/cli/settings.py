"""What commands with a configuration share: reading it, and saying what is wrong with it."""

import sys
from collections.abc import Sequence
from typing import Annotated, Final

from cyclopts import Parameter

from trio_kafka.config.load import Layer, Loaded, load, options
from trio_kafka.config.properties import parse_properties
from trio_kafka.config.setting import ConfigError

# Kafka's own tools end with 1 for a configuration that they refuse; 2 sets it apart from a failure.
REFUSED: Final = 2

File = Annotated[str | None, Parameter(help="A properties file, like Kafka's server.properties.")]
Options = Annotated[
    list[str] | None,
    Parameter(
        name=("-c", "--config"),
        negative="",
        help="NAME=VALUE: one setting; goes over the file's. May be repeated.",
    ),
]


def read_settings(
    file: str | None, arguments: Sequence[str] | None, below: Layer | None = None
) -> Loaded | None:
    """The configuration of a file and of `-c` options; None if it is refused, which was printed.

    below: what is in force where neither says anything.
    """
    try:
        layers = [] if file is None else [parse_properties(_read(file), file)]
        return load(below or {}, *layers, options(arguments or ()))
    except ConfigError as error:
        print(f"trio-kafka: {error}", file=sys.stderr)
    except OSError as error:
        print(f"trio-kafka: {file}: {error.strerror}", file=sys.stderr)
    return None


def _read(file: str) -> str:
    with open(file, encoding="latin-1") as stream:
        return stream.read()
