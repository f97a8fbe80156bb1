"""`trio-kafka plugin new`: a package with a working plugin, as a starting point."""

import os
import re
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Final
from zlib import crc32

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.output import declare_json, print_json
from trio_kafka.cli.plugin.templates.kinds import KINDS

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")
_FIRST_KEY: Final = 10100  # lower keys belong to Kafka and to the broker
_KEYS: Final = 20000
_API: Final = "api"


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", metavar="NAME", help="name of the plugin and its package: a-z, 0-9, _ and -"
    )
    parser.add_argument(
        "--kind",
        choices=KINDS,
        default=_API,
        help="what the plugin adds: an API, an interceptor of requests, a task, an HTTP app, or a"
        " page of the admin UI (default: %(default)s)",
    )
    parser.add_argument(
        "--directory",
        help="target directory (default: a new one with the plugin's name)",
    )
    parser.add_argument(
        "--key",
        type=int,
        help="key of an API, 10100 to 32767 (default: a key derived from the name)",
    )
    declare_json(parser, "one JSON object: `name`, `kind`, `key` (null without an API), `files`")


def new(*, name: str, kind: str, directory: str | None, key: int | None, json: bool) -> int:
    """Write an installable package with a plugin of some kind, settings, a README, and tests."""
    if not _NAME.fullmatch(name):
        reason = f"{name!r} is not a plugin name: use a-z, 0-9, _ and -, with a letter first"
        raise CommandFailedError(reason, FAILED)
    if key is not None and not _FIRST_KEY <= key < 1 << 15:
        reason = f"--key {key} is out of range: plugins have {_FIRST_KEY} to {(1 << 15) - 1}"
        raise CommandFailedError(reason, FAILED)
    if key is not None and kind != _API:
        reason = f"--key is for a plugin that serves an API: leave out --key, or --kind {kind}"
        raise CommandFailedError(reason, FAILED)
    target, chosen = directory or name, key or key_of(name)
    try:
        written = write(target, name, chosen, files=KINDS[kind].files)
    except FileExistsError as error:
        reason = f"{error.filename} exists already: remove it, or choose another --directory"
        raise CommandFailedError(reason, FAILED) from error
    except OSError as error:
        raise CommandFailedError(f"{error.filename}: {error.strerror}", FAILED) from error
    if json:
        shown = chosen if kind == _API else None
        print_json({"name": name, "kind": kind, "key": shown, "files": written})
        return 0
    for path in written:
        print(path)
    print(f"\nNext: pip install -e {target}, pytest {target}, trio-kafka start --embedded")
    return 0


def key_of(name: str) -> int:
    """Return an API key derived from a plugin's name; two names seldom have one key."""
    return _FIRST_KEY + crc32(name.encode()) % _KEYS


def write(target: str, name: str, key: int, *, files: Mapping[str, str]) -> list[str]:
    """Write the package and return its paths. Raises OSError, also for a file that exists."""
    module = name.replace("-", "_")
    words = {
        "NAME": name,
        "MODULE": module,
        "CLASS": "".join(word.capitalize() for word in module.split("_")),
        "KEY": str(key),
        "PAGE": name.replace("_", "-"),
    }
    os.makedirs(target, exist_ok=True)
    written = []
    for path, text in files.items():
        for word, value in words.items():
            path, text = path.replace(word, value), text.replace(f"@{word}@", value)  # noqa: PLW2901
        place = os.path.join(target, path)
        os.makedirs(os.path.dirname(place) or ".", exist_ok=True)
        with open(place, "x", encoding="utf-8") as file:
            file.write(text)
        written.append(place)
    return written
