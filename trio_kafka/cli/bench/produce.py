"""`trio-kafka bench produce`: how fast records are stored."""

from argparse import ArgumentParser
from functools import partial

from trio_kafka.cli.bench.options import (
    check_positive,
    check_topic,
    declare_bench,
    run_bench,
    settings_of,
)


def declare(parser: ArgumentParser) -> None:
    declare_bench(parser, 1_000_000)
    parser.add_argument(
        "--size", type=int, default=100, metavar="BYTES", help="of a value (%(default)s)"
    )
    parser.add_argument(
        "--rate", type=float, metavar="NUMBER", help="records/s (default: as fast as possible)"
    )


def produce(
    *,
    topic: str,
    records: int,
    size: int,
    rate: float | None,
    json: bool,
    bootstrap: str,
    timeout: float,
) -> int:
    """Produce records of random letters to a topic, and show records/s and latencies."""
    check_positive(records=records, size=size, rate=rate)
    check_topic(topic, bootstrap, timeout)
    from trio_kafka.cli.bench.produce_run import ProducePlan, runner  # noqa: PLC0415 - clients
    from trio_kafka.clients.settings.producer import ProducerSettings  # noqa: PLC0415

    plan = ProducePlan(
        settings=settings_of(ProducerSettings, bootstrap, {"max.block.ms": int(timeout * 1000)}),
        topic=topic,
        records=records,
        size=size,
        rate=rate,
    )
    return run_bench(partial(runner, plan), bootstrap=bootstrap, json=json)
