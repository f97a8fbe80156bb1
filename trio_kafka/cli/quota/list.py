"""`trio-kafka quota list`: limits of clients."""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from typing import Final, Unpack

from trio_kafka.cli.admin import TIMEOUT_S, open_cluster
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.cli.quota.entities import (
    UNITS,
    EntityOptions,
    declare_entity,
    entity_of,
    entity_words,
)
from trio_kafka.clients.admin.quotas import ClientQuotaEntity, ClientQuotaFilterComponent, Quotas

_HEAD: Final = ("clients", "quota", "value", "unit")


class Options(EntityOptions):
    """Options of the command."""

    bootstrap: str
    timeout: float
    json: bool


def declare(parser: ArgumentParser) -> None:
    declare_entity(parser)
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `quotas`")


def list_quotas(**options: Unpack[Options]) -> int:
    """Show the limits of users, client ids and addresses: all, or those of some."""
    components = [
        ClientQuotaFilterComponent(entity_type=kind, name=name, is_default=name is None)
        for kind, name in entity_of(options).items()
    ]
    with open_cluster(options["bootstrap"], options["timeout"]) as admin:
        quotas = admin.describe_client_quotas(components)
    return print_answer(quotas, as_data, as_text, json=options["json"])


def as_data(quotas: Mapping[ClientQuotaEntity, Quotas]) -> dict[str, object]:
    """Return the quotas for JSON; null is the default of a type."""
    return {
        "quotas": [
            {"entity": dict(entity.entries), "quotas": values} for entity, values in _sorted(quotas)
        ]
    }


def as_text(quotas: Mapping[ClientQuotaEntity, Quotas]) -> Iterator[str]:
    """Yield the lines of a table."""
    rows = [
        [entity_words(entity), name, f"{value:.15g}", UNITS.get(name, "")]
        for entity, values in _sorted(quotas)
        for name, value in sorted(values.items())
    ]
    yield from columns(_HEAD, rows, [LEFT, LEFT, RIGHT, LEFT])


def _sorted(quotas: Mapping[ClientQuotaEntity, Quotas]) -> list[tuple[ClientQuotaEntity, Quotas]]:
    return sorted(quotas.items(), key=lambda item: entity_words(item[0]))
