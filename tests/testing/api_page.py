"""docs/reference/testing-api.md: embedding and test kit, from their docstrings.

python -m tests.testing.api_page            write it
"""

from collections.abc import Iterator
from typing import Final

from tests.project.docstrings import entry
from tests.project.tree import ROOT
from trio_kafka import Broker, running_broker
from trio_kafka.broker import RunningBroker
from trio_kafka.controls import values
from trio_kafka.testing import checkers, simulate
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka.testing.leaks import no_leaks

PAGE: Final = ROOT / "docs" / "reference" / "testing-api.md"
HEAD: Final = """\
# Embedding and test kit: API

Look up calls and values of a broker in your program, of the test kit and of simulations. To learn
them, begin with [embed a broker](../how-to/embed.md),
[test your application](../how-to/test-your-application.md) and [simulate](../how-to/simulate.md).
The fixtures `kafka` and `kafka_factory` give a `Kafka`; `kafka_in_loop` has the same methods to
await in Trio, and `Kafka.aio` to await in any loop.

This page is generated from docstrings: run `python -m tests.testing.api_page`.
"""
_VALUES: Final = ("Record", "StoredRecord", "Topic", "Group", "Transaction")
_SIMULATED: Final = ("simulate", "run_seed", "Simulation")
_CHECKED: Final = ("History", "check_history", "Violation", "BrokenGuaranteeError")


def page() -> str:
    """Return the content of the page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield HEAD.rstrip()
    for name, value in {
        "Broker": Broker,
        "RunningBroker": RunningBroker,
        "running_broker": running_broker,
        "Kafka": Kafka,
        **{name: getattr(values, name) for name in _VALUES},
        "served_broker": served_broker,
        "ServedBroker": ServedBroker,
        **{name: getattr(simulate, name) for name in _SIMULATED},
        **{name: getattr(checkers, name) for name in _CHECKED},
        "no_leaks": no_leaks,
    }.items():
        yield from entry(name, value)


if __name__ == "__main__":
    PAGE.write_text(page())
