"""Files with settings of clients: Java's .properties, and those of kcat and librdkafka."""

import sys
from pathlib import Path
from typing import Final

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.cluster_address import HTTP_NAMES
from trio_kafka.cli.librdkafka_names import (
    EXTENSIONS,
    LOGIN,
    OIDC,
    RENAMED,
    STORES,
    TRANSLATED,
    WITHOUT_EFFECT,
)
from trio_kafka.clients.settings.load import check_name
from trio_kafka.config.jaas import login_line, login_module
from trio_kafka.config.properties import parse_properties
from trio_kafka.config.sasl_names import OAUTHBEARER
from trio_kafka.config.setting import ConfigError

_STORES: Final = [f"{name}.{form}" for name in STORES for form in ("pem", "location")]


def read_java(path: str) -> dict[str, str]:
    """Return the settings of a .properties file. Raises CommandFailedError.

    A name that is no setting of Kafka's clients is an error with file and line.
    """
    try:
        rows = parse_properties(_text(path, "latin-1"), path)
        for name, row in rows.items():
            check_name(name, others=HTTP_NAMES, where=row.where)
    except ConfigError as error:
        raise CommandFailedError(str(error)) from error
    return {name: row.text for name, row in rows.items()}


def read_librdkafka(path: str) -> dict[str, str]:
    """Return the settings of a file of kcat by the names of Java's clients.

    A line is `name=value`; `#` begins a comment. What only librdkafka has is warned of. Raises
    CommandFailedError, for a name that neither has with file and line.
    """
    settings: dict[str, str] = {}
    for number, line in enumerate(_text(path, "utf-8").splitlines(), 1):
        where = f"{path}:{number}"
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not (name and equals):
            # The line is not told: it may be a secret.
            raise CommandFailedError(f"{where}: want name=value")
        name = name.removeprefix("topic.")  # a setting of topics, as kcat writes it
        if name in WITHOUT_EFFECT:
            print(f"trio-kafka: warning: {where}: {name} has no effect", file=sys.stderr)
            continue
        try:
            others = [*RENAMED, *LOGIN, *OIDC, EXTENSIONS, *_STORES, *WITHOUT_EFFECT]
            check_name(name, others=others, where=where)
        except ConfigError as error:
            raise CommandFailedError(str(error)) from error
        if name in _STORES:
            settings |= _store(name, value)
            continue
        if name in OIDC:
            if value.lower() != OIDC[name]:
                raise CommandFailedError(f"{where}: {name}: want {OIDC[name]}")
            continue
        name = RENAMED.get(name, name)
        settings[name] = TRANSLATED.get((name, value.lower()), value)
    return _with_login(settings)


def _store(name: str, value: str) -> dict[str, str]:
    """Return the settings of a part of a store: its text, or the file that has it."""
    base, _, form = name.rpartition(".")
    text = _text(value, "utf-8") if form == "location" else value
    setting = STORES[base]
    store = ".".join(setting.split(".")[:2])
    return {setting: text, f"{store}.type": "PEM"}


def _with_login(settings: dict[str, str]) -> dict[str, str]:
    """Replace user name and password, or extensions of a token, by a login line."""
    username, password = (settings.pop(name, None) for name in LOGIN)
    extensions = settings.pop(EXTENSIONS, "")
    mechanism = settings.get("sasl.mechanism", "").upper()
    if mechanism == OAUTHBEARER:
        pairs = (pair.partition("=") for pair in extensions.split(",") if pair)
        options = {f"extension_{name.strip()}": value for name, _, value in pairs}
        settings.setdefault("sasl.jaas.config", login_module(mechanism, options))
    elif username is not None and password is not None:
        settings["sasl.jaas.config"] = login_line(mechanism, username, password)
    return settings


def _text(path: str, encoding: str) -> str:
    try:
        return Path(path).read_text(encoding=encoding)
    except OSError as error:
        raise CommandFailedError(f"{path}: {error.strerror}") from error
    except UnicodeError as error:
        raise CommandFailedError(f"{path}: not a text in {encoding}") from error
