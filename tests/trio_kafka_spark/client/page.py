"""The tables of docs/how-to/spark-options.md: each `kafka.*` option of Spark source and sink.

What stands above them in the page is written by hand.

python -m tests.trio_kafka_spark.client.page            write it
"""

from collections.abc import Iterator
from typing import Final

from tests.project.tree import ROOT
from trio_kafka_spark.client.options import KAFKA_OPTIONS, KafkaOption, Side, Use

PAGE: Final = ROOT / "docs" / "how-to" / "spark-options.md"
MARK: Final = "## All options\n"
_ORDER: Final = {
    Use.HONOURED: (
        "Honoured",
        "",
        ("Option", "Default", "What it does"),
    ),
    Use.IGNORED: (
        "Ignored",
        "These are accepted and have no effect, so a query can keep them.",
        ("Option", "Reason"),
    ),
    Use.REFUSED: (
        "Refused",
        "These are errors, because a query could not do what they require.",
        ("Option", "Side", "Reason"),
    ),
}
_SIDES: Final = {Side.READ: "reads", Side.WRITE: "writes", Side.BOTH: "reads and writes"}


def page() -> str:
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield PAGE.read_text().partition(MARK)[0] + MARK
    yield (
        f"{len(KAFKA_OPTIONS)} options are known; any other name is an error that names the nearest"
        " one. These tables"
    )
    yield "are generated: run `python -m tests.trio_kafka_spark.client.page`."
    for use, (title, about, columns) in _ORDER.items():
        yield f"\n### {title}\n"
        if about:
            yield f"{about}\n"
        yield _row(*columns)
        yield _row(*["---"] * len(columns))
        for option in KAFKA_OPTIONS.values():
            if option.use is use:
                yield _row(f"`kafka.{option.name}`", *_cells(option))


def _cells(option: KafkaOption) -> Iterator[str]:
    if option.use is Use.HONOURED:
        yield f"`{option.default}`" if option.default else ""
    if option.use is Use.REFUSED:
        yield _SIDES[option.side]
    yield option.note


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page())
