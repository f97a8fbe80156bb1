"""`trio-kafka plugin new`: a package with a plugin that works, to be changed into one's own."""

import os
import re
import sys
from argparse import ArgumentParser
from typing import Final
from zlib import crc32

from trio_kafka.cli.plugin.template import FILES

FAILED: Final = 1
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")
_FIRST_KEY: Final = 10100  # of plugins; those below are Kafka's and the broker's own
_KEYS: Final = 20000


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", metavar="NAME", help="of the plugin and its package: a-z, 0-9, _ and -"
    )
    parser.add_argument(
        "--directory",
        help="where it goes; a new directory of the plugin's name if it is not given",
    )
    parser.add_argument(
        "--key",
        type=int,
        help="of its API, 10100 to 32767; one that is made of the name if it is not given",
    )


def new(*, name: str, directory: str | None, key: int | None) -> int:
    """Write an installable package with a plugin: an API, settings, a README, and tests."""
    if not _NAME.fullmatch(name):
        print(f"trio-kafka: {name!r}: want a-z, 0-9, _ and -, a letter first", file=sys.stderr)
        return FAILED
    if key is not None and not _FIRST_KEY <= key < 1 << 15:
        print(f"trio-kafka: key {key}: want {_FIRST_KEY} to {(1 << 15) - 1}", file=sys.stderr)
        return FAILED
    target = directory or name
    try:
        written = write(target, name, key or key_of(name))
    except OSError as error:
        print(f"trio-kafka: {error.filename}: {error.strerror}", file=sys.stderr)
        return FAILED
    for path in written:
        print(path)
    print(f"\nNext: pip install -e {target}, pytest {target}, trio-kafka start --embedded")
    return 0


def key_of(name: str) -> int:
    """A key for the API of a plugin of that name: the same each time, seldom another's."""
    return _FIRST_KEY + crc32(name.encode()) % _KEYS


def write(target: str, name: str, key: int) -> list[str]:
    """Write the package. OSError if there is something of it already."""
    module = name.replace("-", "_")
    words = {
        "NAME": name,
        "MODULE": module,
        "CLASS": "".join(word.capitalize() for word in module.split("_")),
        "KEY": str(key),
    }
    os.makedirs(target, exist_ok=True)
    written = []
    for path, text in FILES.items():
        for word, value in words.items():
            path, text = path.replace(word, value), text.replace(f"@{word}@", value)  # noqa: PLW2901
        place = os.path.join(target, path)
        os.makedirs(os.path.dirname(place) or ".", exist_ok=True)
        with open(place, "x", encoding="utf-8") as file:
            file.write(text)
        written.append(place)
    return written
