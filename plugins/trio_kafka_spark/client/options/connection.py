"""Options of connections, requests, retries and metadata."""

from collections.abc import Iterator

from trio_kafka_spark.client.options.option import KafkaOption, honoured, ignored, refused
from trio_kafka_spark.client.values import LARGEST_LONG, endpoints, integer, text


def connection_options() -> Iterator[KafkaOption]:
    yield from honoured(
        "bootstrap.servers",
        "bootstrap",
        endpoints,
        default="",
        note="Required. Brokers to ask first; each one is tried until one answers.",
    )
    yield from honoured(
        "client.id",
        "client_id",
        text,
        default="trio-kafka-spark",
        note="Name of this client in logs, metrics and quotas of the broker.",
    )
    yield from honoured(
        "request.timeout.ms",
        "request_timeout_ms",
        integer(1),
        default="30000",
        note="Longest wait for one answer; the connection is closed and the request retried.",
    )
    yield from honoured(
        "default.api.timeout.ms",
        "api_timeout_ms",
        integer(1),
        default="60000",
        note="Longest time for a request with all its retries.",
    )
    yield from honoured(
        "socket.connection.setup.timeout.ms",
        "connect_timeout_ms",
        integer(1),
        default="10000",
        note="Longest time for a connection to open, TLS handshake and authentication included.",
    )
    yield from honoured(
        "retry.backoff.ms",
        "retry_backoff_ms",
        integer(),
        default="100",
        note="Pause before the first retry, of connections too; doubles with each failure.",
    )
    yield from honoured(
        "retry.backoff.max.ms",
        "retry_backoff_max_ms",
        integer(),
        default="1000",
        note="Longest pause before a retry.",
    )
    yield from honoured(
        "metadata.max.age.ms",
        "metadata_max_age_ms",
        integer(0, LARGEST_LONG),
        default="300000",
        note="Age at which metadata of the cluster is asked for again.",
    )
    yield from honoured(
        "send.buffer.bytes",
        "send_buffer_bytes",
        integer(-1),
        default="-1",
        note="Send buffer of a socket; -1 leaves it to the operating system.",
    )
    yield from honoured(
        "receive.buffer.bytes",
        "receive_buffer_bytes",
        integer(-1),
        default="-1",
        note="Receive buffer of a socket; -1 leaves it to the operating system.",
    )
    yield from ignored(
        "Pauses follow `retry.backoff.ms`.", "reconnect.backoff.ms", "reconnect.backoff.max.ms"
    )
    yield from ignored(
        "`socket.connection.setup.timeout.ms` holds for each attempt.",
        "socket.connection.setup.timeout.max.ms",
    )
    yield from ignored(
        "A connection lives as long as its task, or its query on the driver.",
        "connections.max.idle.ms",
    )
    yield from ignored(
        "All addresses of a name are tried, in order.",
        "client.dns.lookup",
        "bootstrap.resolve.timeout.ms",
    )
    yield from ignored(
        "The addresses of `bootstrap.servers` are tried again whenever no known broker answers.",
        "metadata.recovery.strategy",
        "metadata.recovery.rebootstrap.trigger.ms",
    )
    yield from ignored(
        "Metadata is kept for the topics of the query alone.", "metadata.max.idle.ms"
    )
    yield from ignored(
        "Brokers are not checked for the cluster that they belong to.",
        "metadata.cluster.check.enable",
    )
    yield from ignored("Reads and writes go to partition leaders.", "client.rack")
    yield from refused(
        "a controller holds no records: give kafka.bootstrap.servers", "bootstrap.controllers"
    )
    yield from ignored(
        "The variables `${env:NAME}`, `${file:PATH:KEY}` and `${directory:PATH:FILE}` always work."
        " Those of passwords are looked up on the machine that connects.",
        "config.providers",
    )
    yield from ignored(
        "Metrics of the JVM client; there are none here.",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "enable.metrics.push",
        "auto.include.jmx.reporter",
    )
