"""Page that declares the shape of its data, and its parameters, for the OpenAPI document."""

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import trio
from attrs import Factory, frozen

from trio_kafka_admin.page import Page

_A_STEP = 16  # rows made between two checkpoints


@frozen(kw_only=True)
class DescribedPage(Page):
    """Page with a described answer.

    answer: attrs class whose fields are the keys of its data. parameters: of its query, by name,
    each with a sentence.
    """

    answer: type
    parameters: Mapping[str, str] = Factory(dict)


async def rows_of(values: Iterable[attrs.AttrsInstance]) -> list[dict[str, Any]]:
    """Return flat values as rows, in steps: what a field holds is left as it is."""
    rows = list[dict[str, Any]]()
    for number, value in enumerate(values, 1):
        rows.append(attrs.asdict(value, recurse=False))
        if not number % _A_STEP:
            await trio.lowlevel.checkpoint()
    return rows
