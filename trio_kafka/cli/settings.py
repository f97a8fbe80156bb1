"""Settings of a command: files, environment, options, and their errors.

Layers in order: TOML files, the environment, properties files, `-c`. Each overrides those before
it.
"""

from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from typing import Final

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.machine import Machine
from trio_kafka.config.load import Layer, Loaded, load, options
from trio_kafka.config.properties import SettingText, iterate_properties
from trio_kafka.config.setting import ConfigError
from trio_kafka.config.sources.environment import environment

_TOML: Final = ".toml"
_LARGEST: Final = 16 << 20  # characters of a file


def declare_settings(parser: ArgumentParser) -> None:
    """Declare the arguments `files` and `config` of `read_settings`."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a properties file, like Kafka's server.properties, or a .toml file; environment"
        " variables KAFKA_… go over .toml files, properties files over both",
    )
    declare_options(parser)


def declare_options(parser: ArgumentParser) -> None:
    """Declare the argument `config` alone."""
    parser.add_argument(
        "-c",
        "--config",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="one setting, which goes over all files; may be repeated",
    )


def read_settings(
    files: Sequence[str], arguments: Sequence[str], below: Layer | None = None
) -> Loaded:
    """Return the configuration. Raises CommandFailedError if it is wrong. below: lowest layer."""
    try:
        return loaded(files, arguments, Machine(), below=below)
    except ConfigError as error:
        raise CommandFailedError(str(error)) from error


def loaded(
    files: Sequence[str],
    arguments: Sequence[str],
    machine: Machine,
    *,
    below: Layer | None = None,
) -> Loaded:
    """Return the configuration and its warnings. Raises ConfigError."""
    variables, warnings = environment(machine.variables)
    layers = in_order(((file, dict(read_file(file))) for file in files), variables, arguments)
    configuration = load(below or {}, *layers, outside=machine)
    return Loaded(configuration.config, (*warnings, *configuration.warnings))


def in_order(
    files: Iterable[tuple[str, Layer]], variables: Layer, arguments: Sequence[str]
) -> list[Layer]:
    """Return the layers of files, environment and `-c`, lowest first."""
    named = list(files)
    tables = [layer for file, layer in named if file.endswith(_TOML)]
    properties = [layer for file, layer in named if not file.endswith(_TOML)]
    return [*tables, variables, *properties, options(arguments)]


def read_file(file: str) -> list[tuple[str, SettingText]]:
    """Return the settings of a file in order; a properties file may repeat a name.

    Raises ConfigError, also for a file that cannot be read.
    """
    toml = file.endswith(_TOML)
    try:
        with open(file, encoding="utf-8" if toml else "latin-1") as stream:
            text = stream.read(_LARGEST + 1)
    except OSError as error:
        raise ConfigError(file, error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise ConfigError(file, "is not UTF-8, as a TOML file must be") from None
    if len(text) > _LARGEST:
        raise ConfigError(file, f"has more than {_LARGEST} characters: name a file of settings")
    if not toml:
        return list(iterate_properties(text, file))
    from trio_kafka.config.sources.toml import parse_toml  # noqa: PLC0415 - most starts have none

    return list(parse_toml(text, file).items())
