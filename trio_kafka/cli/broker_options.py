"""Options that every command with a broker shares: its address, and how long to wait for it.

Imports nothing of the protocol, so that contributed commands can use it cheaply.
"""

import os
from argparse import ArgumentParser
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from trio_kafka.cli import LATER
from trio_kafka.cli.cluster_address import SERVERS, Bootstrap

if TYPE_CHECKING:
    from argparse import _ArgumentGroup  # argparse has no public name for this class

DEFAULT_BOOTSTRAP: Final = "127.0.0.1:9092"
VARIABLE: Final = "TRIO_KAFKA_BOOTSTRAP"
PROFILE: Final = "TRIO_KAFKA_PROFILE"
_SOURCES: Final = ("command_config", "config_file", "property")


def default_bootstrap() -> Bootstrap:
    """Return the cluster where no option names one.

    It is that of TRIO_KAFKA_BOOTSTRAP, of the profile TRIO_KAFKA_PROFILE, of the profile in use, or
    loopback. Raises CommandFailedError for a profile that cannot be read.
    """
    if text := os.environ.get(VARIABLE):
        return Bootstrap(text)
    from trio_kafka.cli.saved_profiles import default_profile  # noqa: PLC0415 - see above

    settings = default_profile(os.environ.get(PROFILE))
    return Bootstrap(settings.get(SERVERS, DEFAULT_BOOTSTRAP), settings)


def declare_bootstrap(
    parser: "ArgumentParser | _ArgumentGroup",
    option: str = "--bootstrap",
    *,
    purpose: str = "any listener of the broker; several addresses are separated by commas",
) -> None:
    """Declare an option with a broker's address; None where it is not given.

    parser: a parser, or a group of one.
    """
    parser.add_argument(
        option,
        metavar="HOST:PORT",
        help=f"{purpose} (default: {VARIABLE}, then the profile, then {DEFAULT_BOOTSTRAP})",
    )


def declare_sources(parser: "ArgumentParser | _ArgumentGroup", prefix: str = "") -> None:
    """Declare the options with files and settings of clients. prefix: before their names."""
    short = not prefix
    parser.add_argument(
        f"--{prefix}command-config",
        action="append",
        default=[],
        metavar="FILE",
        help="settings of a client, a .properties file as Kafka's tools take it",
    )
    parser.add_argument(
        *(["-F"] if short else []),
        f"--{prefix}config-file",
        action="append",
        default=[],
        metavar="FILE",
        help="settings of a client, a file as kcat and librdkafka have it",
    )
    parser.add_argument(
        *(["-X"] if short else []),
        f"--{prefix}property",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="setting of Kafka's clients, such as linger.ms=50; may be repeated",
    )


def declare_cluster(
    parser: "ArgumentParser | _ArgumentGroup",
    *,
    prefix: str = "",
    purpose: str | None = None,
    keep_none: bool = False,
) -> None:
    """Declare the options with a cluster. Its value is a Bootstrap, `bootstrap` after the prefix.

    prefix: before the names of options, such as `to-`. keep_none: leave None where no option is
    given, for a command that does not always ask a broker; it calls `default_bootstrap` itself.
    """
    bootstrap = f"--{prefix}bootstrap"
    if purpose is None:
        declare_bootstrap(parser, bootstrap)
    else:
        declare_bootstrap(parser, bootstrap, purpose=purpose)
    parser.add_argument(
        f"--{prefix}profile",
        metavar="NAME",
        help=f"cluster that `trio-kafka profile add` has named (default: {PROFILE})",
    )
    declare_sources(parser, prefix)
    name = prefix.replace("-", "_")
    parser.set_defaults(
        **{f"{LATER}{name}bootstrap": partial(_find_cluster, name, keep_none=keep_none)}
    )


def declare_timeout(parser: ArgumentParser, timeout_s: float = 5.0) -> None:
    """Declare the option `--timeout`."""
    parser.add_argument(
        "--timeout",
        type=float,
        default=timeout_s,
        metavar="SECONDS",
        help="longest wait for the broker's answer (%(default)g)",
    )


def declare_broker(parser: ArgumentParser, timeout_s: float = 5.0) -> None:
    """Declare the options with a cluster, and `--timeout`. The value `bootstrap` is a Bootstrap."""
    declare_cluster(parser)
    declare_timeout(parser, timeout_s)


def cluster_of(
    address: object,
    profile: object,
    command_config: Sequence[str],
    config_file: Sequence[str],
    properties: Sequence[str],
) -> Bootstrap:
    """Return the cluster of options; later ones go before earlier ones. Raises CommandFailedError.

    address: of `--bootstrap`, or None.
    """
    from trio_kafka.cli.client_settings import (  # noqa: PLC0415 - imports the settings
        parse_properties,
        settings_of_files,
    )

    settings: dict[str, str] = {}
    if profile is not None:
        from trio_kafka.cli.saved_profiles import find_profile  # noqa: PLC0415 - as above

        settings |= find_profile(str(profile))
    settings |= settings_of_files(command_config, config_file)
    pairs = parse_properties(properties)
    servers = address or pairs.pop(SERVERS, None) or settings.get(SERVERS)
    if servers is None:
        cluster = default_bootstrap()
        servers, settings = str(cluster), {**cluster.settings, **cluster.http, **settings}
    return Bootstrap(str(servers), settings, pairs)


def _find_cluster(prefix: str, values: dict[str, object], *, keep_none: bool) -> None:
    """Replace the options with a cluster by the cluster."""
    bootstrap = f"{prefix}bootstrap"
    address, profile = values[bootstrap], values.pop(f"{prefix}profile")
    sources = [cast("Sequence[str]", values.pop(f"{prefix}{name}")) for name in _SOURCES]
    if profile is None and not any(sources):
        if address is None and keep_none:
            return
        values[bootstrap] = default_bootstrap() if address is None else Bootstrap(str(address))
        return
    values[bootstrap] = cluster_of(address, profile, *sources)
