"""`trio-kafka produce`: write records to a topic."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Final, TypedDict, Unpack

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.broker_client import open_client, parse_addresses
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.client_settings import client_errors, settings_for
from trio_kafka.cli.produce.lines import LineForm, parse_header
from trio_kafka.cli.produce.plan import STDIN, WritePlan
from trio_kafka.cli.records.escapes import unescape
from trio_kafka.cli.records.times import TIME_FORMS, time_option
from trio_kafka.cli.topics import UNKNOWN, all_topics, check_leaders, find_topics

_TIMEOUT_S: Final = 30.0
_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
_BATCH_BYTES: Final = 1 << 18
_BUFFER_BYTES: Final = 1 << 26


class Options(TypedDict):
    """Options of the command."""

    topic: str | None
    file: Sequence[str]
    json: bool
    key_separator: str | None
    header_separator: str | None
    delimiter: str
    null: str | None
    whole_files: bool
    key: str | None
    header: Sequence[str]
    partition: int | None
    repartition: bool
    time: str | None
    compression: str
    acks: str
    rate: float | None
    count: int | None
    transactional_id: str | None
    commit_every: int | None
    report: bool
    create: bool
    bootstrap: str
    timeout: float


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "topic", nargs="?", metavar="TOPIC", help="with --json: default is that of each line"
    )
    parser.add_argument(
        "file", nargs="*", default=[], metavar="FILE", help="files to read (default: -, the input)"
    )
    form = parser.add_argument_group("input")
    form.add_argument(
        "--json", action="store_true", help="a JSON object a line, as `consume --json` prints it"
    )
    form.add_argument(
        "-K", "--key-separator", metavar="TEXT", help=r"the key stands before this text: '\t'"
    )
    form.add_argument(
        "--header-separator",
        metavar="TEXT",
        help="headers name=value,name=value stand first, before this text",
    )
    form.add_argument(
        "-D", "--delimiter", default="\\n", metavar="TEXT", help=r"end of a record (default: \n)"
    )
    form.add_argument("--null", metavar="TEXT", help="text of a null key or value")
    form.add_argument("--whole-files", action="store_true", help="each file is one value")
    form.add_argument("-n", "--count", type=int, metavar="NUMBER", help="write at most so many")
    records = parser.add_argument_group("records")
    records.add_argument("-k", "--key", metavar="TEXT", help="key of records without one")
    records.add_argument(
        "-H",
        "--header",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="header of all records; may be repeated",
    )
    records.add_argument("-p", "--partition", type=int, metavar="NUMBER", help="of all records")
    records.add_argument(
        "--repartition",
        action="store_true",
        help="with --json: keys choose partitions, not the lines",
    )
    records.add_argument("--time", metavar="TIME", help=f"of records without one: {TIME_FORMS}")
    sending = parser.add_argument_group("sending")
    sending.add_argument("-z", "--compression", choices=_CODECS, default="none", help="codec")
    sending.add_argument("--acks", choices=("all", "1", "0"), default="all", help="default: all")
    sending.add_argument("--rate", type=float, metavar="NUMBER", help="records/s at most")
    sending.add_argument(
        "--transactional-id", metavar="ID", help="write all records in one transaction"
    )
    sending.add_argument(
        "--commit-every", type=int, metavar="NUMBER", help="a transaction for so many records"
    )
    sending.add_argument(
        "--report", action="store_true", help="print partition and offset of each record"
    )
    sending.add_argument(
        "--create", action="store_true", help="let the broker create the topic if it is missing"
    )
    declare_broker(parser, _TIMEOUT_S)


def produce(**options: Unpack[Options]) -> int:
    """Write records to a topic: a line of the input is the value of a record.

    Ends when all records are stored, else with status 1.
    """
    plan = plan_write(options)
    import trio  # noqa: PLC0415 - the clients take as long to import as the rest

    from trio_kafka.cli.produce.run import write_records  # noqa: PLC0415 - as above

    with client_errors(options["bootstrap"]):
        trio.run(write_records, plan)
    return 0


def plan_write(options: Options) -> WritePlan:
    """Check options, and ask the broker for the topic. Raises CommandFailedError."""
    _check(options)
    form = None if options["json"] else _form(options)
    delimiter = b"\n" if form is None else _bytes("--delimiter", options["delimiter"])
    try:
        headers = tuple(
            parse_header(text.encode(errors="surrogateescape")) for text in options["header"]
        )
    except ValueError as error:
        raise CommandFailedError(str(error)) from error
    timestamp_ms = None if options["time"] is None else time_option("--time", options["time"])
    key = options["key"]
    _check_topic(options)
    return WritePlan(
        settings=_settings(options),
        topic=options["topic"],
        inputs=options["file"] or [STDIN],
        form=form,
        delimiter=delimiter,
        whole_files=options["whole_files"],
        key=None if key is None else key.encode(errors="surrogateescape"),
        headers=headers,
        partition=options["partition"],
        keeps_partitions=not options["repartition"],
        timestamp_ms=timestamp_ms,
        rate=options["rate"],
        most=options["count"],
        commit_every=options["commit_every"],
        reports=options["report"],
    )


def _check(options: Options) -> None:
    """Raise CommandFailedError for options that exclude one another."""
    is_lined = any(
        options[name] is not None for name in ("key_separator", "header_separator", "null")
    )
    rate, commit_every = options["rate"], options["commit_every"]
    rules: Sequence[tuple[bool, str]] = (
        (options["topic"] is None and not options["json"], "give a TOPIC"),
        (
            is_lined and (options["json"] or options["whole_files"]),
            "separators and --null are for lines: leave --json and --whole-files out",
        ),
        (
            options["json"] and options["whole_files"],
            "--json and --whole-files are two forms of input: leave one out",
        ),
        (rate is not None and rate <= 0, f"--rate {rate}: want more than 0"),
        (
            commit_every is not None and options["transactional_id"] is None,
            "--commit-every needs --transactional-id",
        ),
        (commit_every is not None and commit_every < 1, "--commit-every: want at least 1"),
        (options["count"] is not None and options["count"] < 0, "--count: want at least 0"),
        (
            options["transactional_id"] is not None and options["acks"] != "all",
            "a transaction needs --acks all",
        ),
    )
    for is_broken, reason in rules:
        if is_broken:
            raise CommandFailedError(reason)


def _form(options: Options) -> LineForm:
    null = options["null"]
    return LineForm(
        key_separator=_separator("--key-separator", options["key_separator"]),
        header_separator=_separator("--header-separator", options["header_separator"]),
        null=None if null is None else null.encode(errors="surrogateescape"),
    )


def _separator(option: str, text: str | None) -> bytes | None:
    return None if text is None else _bytes(option, text)


def _bytes(option: str, text: str) -> bytes:
    try:
        data = unescape(text)
    except ValueError as error:
        raise CommandFailedError(f"{option}: {error}") from error
    if not data:
        raise CommandFailedError(f"{option}: want at least one character")
    return data


def _check_topic(options: Options) -> None:
    """Raise CommandFailedError if the broker, the topic, or the partition does not exist."""
    name, partition = options["topic"], options["partition"]
    address = parse_addresses(options["bootstrap"])
    with open_client(address, options["timeout"], unknown=UNKNOWN) as send:
        if name is None or options["create"]:
            all_topics(send)
            return
        topics = find_topics(send, [name])
    if len(topics) != 1:
        raise CommandFailedError(f"{name} matches {len(topics)} topics: name one")
    if partition is not None:
        check_leaders(topics[0], [partition])
    options["topic"] = topics[0].name


def _settings(options: Options) -> dict[str, object]:
    settings: dict[str, object] = {
        "client.id": "trio-kafka",
        "max.block.ms": int(options["timeout"] * 1000),
        "batch.size": _BATCH_BYTES,
        "buffer.memory": _BUFFER_BYTES,
    }
    chosen: dict[str, object] = {}
    if options["compression"] != "none":
        chosen["compression.type"] = options["compression"]
    if options["acks"] != "all":
        chosen["acks"] = options["acks"]
    if options["transactional_id"] is not None:
        chosen["transactional.id"] = options["transactional_id"]
    from trio_kafka.clients.settings.producer import ProducerSettings  # noqa: PLC0415 - as above

    return settings | settings_for(ProducerSettings, options["bootstrap"], chosen)
