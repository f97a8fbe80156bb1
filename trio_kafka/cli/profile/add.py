"""`trio-kafka profile add`: name a cluster."""

import re
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Final

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.broker_client import parse_addresses
from trio_kafka.cli.broker_options import declare_sources
from trio_kafka.cli.client_settings import check_settings, parse_properties, settings_of_files
from trio_kafka.cli.cluster_address import SERVERS
from trio_kafka.cli.output import declare_json, print_answer
from trio_kafka.cli.saved_profiles import read_profiles, shown, write_profiles

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--bootstrap", metavar="HOST:PORT,...", help="addresses of its brokers")
    declare_sources(parser)
    parser.add_argument("--replace", action="store_true", help="an existing profile, too")
    declare_json(parser, "one JSON object: `name`, `settings`")


def add(
    *,
    name: str,
    bootstrap: str | None,
    command_config: Sequence[str],
    config_file: Sequence[str],
    property: Sequence[str],  # noqa: A002 - the name of the option
    replace: bool,
    json: bool,
) -> int:
    """Name a cluster, with its address and settings of clients.

    Files are read once: the profile holds what they say now.
    """
    if not _NAME.fullmatch(name):
        raise CommandFailedError(f"profile {name}: want letters, digits, '.', '_' and '-'")
    profiles = read_profiles()
    if name in profiles.profiles and not replace:
        raise CommandFailedError(f"profile {name}: it exists; give --replace to change it")
    settings = settings_of_files(command_config, config_file) | parse_properties(property)
    if bootstrap is not None:
        settings[SERVERS] = bootstrap
    if SERVERS not in settings:
        raise CommandFailedError(f"profile {name}: give --bootstrap HOST:PORT")
    parse_addresses(settings[SERVERS])
    check_settings(settings)
    write_profiles(profiles.with_profile(name, settings))
    document = {"name": name, "settings": shown(settings)}
    return print_answer(
        document, lambda answer: answer, lambda _: [f"done: profile {name}"], json=json
    )
