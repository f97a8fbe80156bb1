"""`trio-kafka bench consume`: how fast records are read."""

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


def consume(
    *,
    topic: str,
    records: int,
    json: bool,
    bootstrap: str,
    timeout: float,
) -> int:
    """Read a topic from its beginning, without a group, and show records/s.

    Ends after so many records, or at the end that the topic has when it starts.
    """
    check_positive(records=records)
    check_topic(topic, bootstrap, timeout)
    from trio_kafka.cli.bench.consume_run import ConsumePlan, runner  # noqa: PLC0415 - clients
    from trio_kafka.clients.settings.consumer import ConsumerSettings  # noqa: PLC0415

    defaults = {"default.api.timeout.ms": int(timeout * 1000)}
    settings = settings_of(ConsumerSettings, bootstrap, defaults)
    plan = ConsumePlan(settings=settings, topic=topic, records=records, timeout_s=timeout)
    return run_bench(partial(runner, plan), bootstrap=bootstrap, json=json)
