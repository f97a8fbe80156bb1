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
HEAD: Final = '''"""What the handlers here serve: key, name, first and last version, module.

Behind them stands the newest version where it is unstable.
Written by `python -m tests.apis.listing`; a test holds it to the handlers. So a start imports none
of them. A handler that is missing here is served all the same, and imported at the start.
"""

from typing import Final

LISTED: Final = (
'''


def render() -> str:
    """The file as it should be."""
    registry = Registry()
    for found in pkgutil.iter_modules(trio_kafka_apis.__path__, "trio_kafka_apis."):
        registry.add_module(importlib.import_module(found.name))
    rows = [f"    {row(one)}," for one in registry]
    return HEAD + "\n".join(rows) + "\n)\n"


def row(one: Api | Listing) -> str:
    newest = f", {one.newest}" if one.newest != one.last else ""
    place = one.source.rpartition(".")[2]
    return f'({one.key}, "{one.name}", {one.first}, {one.last}, "{place}"{newest})'


if __name__ == "__main__":
    PLACE.write_text(render())
