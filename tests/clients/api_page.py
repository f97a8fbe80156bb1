"""docs/reference/clients-api.md: the clients for Trio, from their docstrings and settings.

python -m tests.clients.api_page            write it
"""

from collections.abc import Iterator
from typing import Final

import trio_kafka.clients
from tests.plugin_host.page import row
from tests.project.docstrings import entry, signature_of, text_of
from tests.project.tree import ROOT
from trio_kafka.clients import errors
from trio_kafka.clients.admin.calls.operation import Operation
from trio_kafka.clients.admin.operations import AdminOperations
from trio_kafka.clients.settings.admin import AdminSettings
from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.clients.settings.consumer import ConsumerSettings
from trio_kafka.clients.settings.load import declared_settings
from trio_kafka.clients.settings.producer import ProducerSettings
from trio_kafka.clients.settings.without_effect import WITHOUT_EFFECT
from trio_kafka.config.report.explain import bounds_of, default_of_kafka

PAGE: Final = ROOT / "docs" / "reference" / "clients-api.md"
HEAD: Final = """\
# Clients for Trio: API

Look up calls, values, errors and settings of the clients for Trio. Import clients from
`trio_kafka.clients`, and errors from `trio_kafka.clients.errors`. To learn the clients, begin with
[the tutorial](../tutorial/order-service.md),
[produce](../how-to/produce-with-trio.md), [consume](../how-to/consume-with-trio.md) and
[administer](../how-to/administer-with-trio.md).

This page is generated from docstrings: run `python -m tests.clients.api_page`.
"""
# Methods for other parts of the package, which their docstrings do not promise to users.
_INTERNAL: Final = frozenset(
    {
        *("close", "drain", "check_open", "figures", "note_assignment", "processed", "take_error"),
        *("take_group_turn", "wake", "next_turn", "next_batch"),
        *("note", "next_position"),
    }
)
_COLUMNS: Final = ("Setting", "Default", "Bounds", "What it says")


def page() -> str:
    """Return the content of the page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield HEAD.rstrip()
    names = trio_kafka.clients.__all__
    for name in (*(n for n in names if n.islower()), *(n for n in names if not n.islower())):
        yield from entry(name, getattr(trio_kafka.clients, name), hidden=_INTERNAL)
        if name == "Admin":
            yield from _operations()
    yield "\n## Errors\n"
    yield row(("Error", "Kind of", "What it means"))
    yield row(["---"] * 3)
    for kind in _errors():
        yield row(
            (
                f"`{kind.__name__}`",
                f"`{kind.__bases__[0].__name__}`",
                " ".join(text_of(kind).split()),
            )
        )
    yield from _settings("Producer settings", ProducerSettings)
    yield from _settings("Consumer settings", ConsumerSettings)
    yield from _settings("Admin client settings", AdminSettings)
    yield "\n## Settings without effect\n"
    yield "Kafka's other settings are accepted with a `SettingWarning`. Unknown names are errors.\n"
    yield row(("Reason", "Settings"))
    yield row(["---"] * 2)
    for reason in dict.fromkeys(WITHOUT_EFFECT.values()):
        without = [f"`{name}`" for name, why in WITHOUT_EFFECT.items() if why == reason]
        yield row((reason, ", ".join(without)))


def _operations() -> Iterator[str]:
    """Yield the calls of the admin client, each a plan that returns a value in the end."""
    for name, value in vars(AdminOperations).items():
        if isinstance(value, Operation):
            plan = getattr(AdminOperations, name)
            yield f"\n### Admin.{name}\n"
            yield f"```python notrun\nasync {name}{signature_of(plan)}\n```\n"
            yield text_of(plan)


def _errors() -> Iterator[type]:
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, errors.ClientError):
            yield value


def _settings(title: str, kind: type[ClientSettings]) -> Iterator[str]:
    yield f"\n## {title}\n"
    yield row(_COLUMNS)
    yield row(["---"] * len(_COLUMNS))
    for name, setting in sorted(declared_settings(kind).items()):
        default = "required" if setting.required else f"`{default_of_kafka(setting)}`"
        yield row((f"`{name}`", default, bounds_of(setting), setting.doc))


if __name__ == "__main__":
    PAGE.write_text(page())
