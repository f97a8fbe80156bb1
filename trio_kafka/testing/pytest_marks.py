"""Arguments of the mark `kafka`: those that exist, and those of a test."""

from difflib import get_close_matches
from typing import Any, Final

import pytest

from trio_kafka.controls.keywords import keywords_of
from trio_kafka.testing.kafka.access import AccessOptions
from trio_kafka.testing.kafka.threaded import running_broker

ARGUMENTS: Final = tuple(
    name for name in keywords_of(running_broker) if name not in ("name", "seed")
)
SHARED: Final = frozenset({"topics"})  # arguments of a mark that a shared broker can take
ACCESS: Final = frozenset(AccessOptions.__annotations__)
SIMULATED: Final = ACCESS | {"settings", "topics", "plugins"}


def marked(test: pytest.Item) -> dict[str, Any]:
    """Return the arguments of a test's marks, the closest one first. Fails for unknown ones."""
    arguments: dict[str, Any] = {}
    for mark in test.iter_markers("kafka"):
        unknown = mark.kwargs.keys() - set(ARGUMENTS)
        if unknown or mark.args:
            named = ", ".join([*map(repr, mark.args), *sorted(unknown)])
            near = [get_close_matches(name, ARGUMENTS, n=1, cutoff=0.5) for name in sorted(unknown)]
            hint = "".join(f"; did you mean {names[0]}?" for names in near if names)
            pytest.fail(
                f"@pytest.mark.kafka({named}): expected {', '.join(ARGUMENTS)}, by name{hint}",
                pytrace=False,
            )
        merged = {**mark.kwargs.get("settings", {}), **arguments.get("settings", {})}
        arguments = {**mark.kwargs, **arguments, **({"settings": merged} if merged else {})}
    return arguments
