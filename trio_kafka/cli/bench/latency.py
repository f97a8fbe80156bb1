"""`trio-kafka bench latency`: how long a record takes from a producer to a consumer."""

from argparse import ArgumentParser
from functools import partial

from trio_kafka.cli.bench.options import (
    check_positive,
    check_topic,
    declare_bench,
    run_bench,
    settings_of,
)
from trio_kafka.cli.cluster_address import Bootstrap


def declare(parser: ArgumentParser) -> None:
    declare_bench(parser, 1000)
    parser.add_argument(
        "--size", type=int, default=100, metavar="BYTES", help="of a value (%(default)s)"
    )
    parser.add_argument("--acks", choices=("all", "1"), default="all", help="(%(default)s)")


def latency(
    *,
    topic: str,
    records: int,
    size: int,
    acks: str,
    json: bool,
    bootstrap: str,
    timeout: float,
) -> int:
    """Send records one by one, and show how long each takes until a consumer has it.

    Properties are those of the producer.
    """
    check_positive(records=records, size=size)
    check_topic(topic, bootstrap, timeout)
    from trio_kafka.cli.bench.latency_run import LatencyPlan, runner  # noqa: PLC0415 - clients
    from trio_kafka.clients.settings.consumer import ConsumerSettings  # noqa: PLC0415
    from trio_kafka.clients.settings.producer import ProducerSettings  # noqa: PLC0415

    sending: dict[str, object] = {
        "linger.ms": 0,
        "acks": acks,
        "max.block.ms": int(timeout * 1000),
    }
    if acks != "all":
        sending["enable.idempotence"] = False
    readers = bootstrap.without_properties() if isinstance(bootstrap, Bootstrap) else bootstrap
    plan = LatencyPlan(
        producer=settings_of(ProducerSettings, bootstrap, sending),
        consumer=settings_of(
            ConsumerSettings, readers, {"default.api.timeout.ms": int(timeout * 1000)}
        ),
        topic=topic,
        records=records,
        size=size,
        timeout_s=timeout,
    )
    return run_bench(partial(runner, plan), bootstrap=bootstrap, json=json)
