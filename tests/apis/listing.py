"""Writes `trio_kafka_apis/listed.py`, after a handler came: `python -m tests.apis.listing`.

The list is what lets a broker start without importing its handlers.
"""

import importlib
import pkgutil
from pathlib import Path
from typing import Final

import trio_kafka_apis
from trio_kafka.requests.api import Api, Listing
from trio_kafka.requests.registry import Registry

PLACE: Final = Path(trio_kafka_apis.__file__).with_name("listed.py")
HEAD: Final = '''"""List of handlers: key, name, first and last version, module, unstable version.

Written by `python -m tests.apis.listing`; a test compares it with the handlers. With this list a
broker starts without importing them. A handler that is not listed is served too, but imported at
the start.
"""

from typing import Final

LISTED: Final = (
'''


def render() -> str:
    """The file as it should be."""
    registry = Registry()
    for result in pkgutil.iter_modules(trio_kafka_apis.__path__, "trio_kafka_apis."):
        registry.add_module(importlib.import_module(result.name))
    rows = [f"    {row(api)}," for api in registry]
    return HEAD + "\n".join(rows) + "\n)\n"


def row(api: Api | Listing) -> str:
    newest = f", {api.newest}" if api.newest != api.last else ""
    place = api.source.rpartition(".")[2]
    return f'({api.key}, "{api.name}", {api.first}, {api.last}, "{place}"{newest})'


if __name__ == "__main__":
    PLACE.write_text(render())
