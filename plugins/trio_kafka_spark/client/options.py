"""Table of the `kafka.*` options: honoured, ignored with the reason, or refused with the reason.

Holds every setting of Kafka's consumer, producer and admin client, of 3.9 as well as 4.x; a name
that is not here is an error. `docs/how-to/spark-options.md` is written from this table.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka_spark.client.values import (
    LARGEST_LONG,
    Parser,
    choice,
    endpoints,
    flag,
    integer,
    text,
    words,
)


class Use(Enum):
    """Treatment of an option that is given."""

    HONOURED = "honoured"
    IGNORED = "ignored"
    REFUSED = "refused"


class Side(Enum):
    """The side that an option is refused on; the other side ignores it."""

    READ = "read"
    WRITE = "write"
    BOTH = "both"


@frozen(kw_only=True)
class KafkaOption:
    """One option, without the prefix `kafka.`.

    target: field of ClientSettings that holds the value. note: for users; what the option does
    here, or why it does nothing, or why it is refused. secret: the value is a password, or holds
    one. default: ours, as text.
    """

    name: str
    use: Use
    note: str
    target: str | None = None
    parse: Parser = integer()
    secret: bool = False
    default: str = ""
    side: Side = Side.BOTH

    def is_refused(self, *, for_writing: bool) -> bool:
        """The option is an error on this side."""
        side = Side.WRITE if for_writing else Side.READ
        return self.use is Use.REFUSED and self.side in (Side.BOTH, side)


def _honoured(
    name: str, target: str, parse: Parser, *, default: str, note: str, secret: bool = False
) -> Iterator[KafkaOption]:
    yield KafkaOption(
        name=name,
        use=Use.HONOURED,
        note=note,
        target=target,
        parse=parse,
        default=default,
        secret=secret,
    )


def _ignored(note: str, *names: str) -> Iterator[KafkaOption]:
    for name in names:
        yield KafkaOption(name=name, use=Use.IGNORED, note=note)


def _refused(note: str, *names: str, side: Side = Side.BOTH) -> Iterator[KafkaOption]:
    for name in names:
        yield KafkaOption(name=name, use=Use.REFUSED, note=note, side=side)


def _connection() -> Iterator[KafkaOption]:
    yield from _honoured(
        "bootstrap.servers",
        "bootstrap",
        endpoints,
        default="",
        note="Required. Brokers to ask first; each one is tried until one answers.",
    )
    yield from _honoured(
        "client.id",
        "client_id",
        text,
        default="trio-kafka-spark",
        note="Name of this client in logs, metrics and quotas of the broker.",
    )
    yield from _honoured(
        "request.timeout.ms",
        "request_timeout_ms",
        integer(1),
        default="30000",
        note="Longest wait for one answer; the connection is closed and the request retried.",
    )
    yield from _honoured(
        "default.api.timeout.ms",
        "api_timeout_ms",
        integer(1),
        default="60000",
        note="Longest time for a request with all its retries.",
    )
    yield from _honoured(
        "socket.connection.setup.timeout.ms",
        "connect_timeout_ms",
        integer(1),
        default="10000",
        note="Longest time for a connection to open, TLS handshake and authentication included.",
    )
    yield from _honoured(
        "retry.backoff.ms",
        "retry_backoff_ms",
        integer(),
        default="100",
        note="Pause before the first retry, of connections too; doubles with each failure.",
    )
    yield from _honoured(
        "retry.backoff.max.ms",
        "retry_backoff_max_ms",
        integer(),
        default="1000",
        note="Longest pause before a retry.",
    )
    yield from _honoured(
        "metadata.max.age.ms",
        "metadata_max_age_ms",
        integer(0, LARGEST_LONG),
        default="300000",
        note="Age at which metadata of the cluster is asked for again.",
    )
    yield from _honoured(
        "send.buffer.bytes",
        "send_buffer_bytes",
        integer(-1),
        default="-1",
        note="Send buffer of a socket; -1 leaves it to the operating system.",
    )
    yield from _honoured(
        "receive.buffer.bytes",
        "receive_buffer_bytes",
        integer(-1),
        default="-1",
        note="Receive buffer of a socket; -1 leaves it to the operating system.",
    )
    yield from _ignored(
        "Pauses follow `retry.backoff.ms`.", "reconnect.backoff.ms", "reconnect.backoff.max.ms"
    )
    yield from _ignored(
        "`socket.connection.setup.timeout.ms` holds for each attempt.",
        "socket.connection.setup.timeout.max.ms",
    )
    yield from _ignored(
        "A connection lives as long as its task, or its query on the driver.",
        "connections.max.idle.ms",
    )
    yield from _ignored(
        "All addresses of a name are tried, in order.",
        "client.dns.lookup",
        "bootstrap.resolve.timeout.ms",
    )
    yield from _ignored(
        "The addresses of `bootstrap.servers` are tried again whenever no known broker answers.",
        "metadata.recovery.strategy",
        "metadata.recovery.rebootstrap.trigger.ms",
    )
    yield from _ignored(
        "Metadata is kept for the topics of the query alone.", "metadata.max.idle.ms"
    )
    yield from _ignored(
        "Brokers are not checked for the cluster that they belong to.",
        "metadata.cluster.check.enable",
    )
    yield from _ignored("Reads and writes go to partition leaders.", "client.rack")
    yield from _refused(
        "a controller holds no records: give kafka.bootstrap.servers", "bootstrap.controllers"
    )
    yield from _ignored(
        "The variables `${env:NAME}`, `${file:PATH:KEY}` and `${directory:PATH:FILE}` always work."
        " Those of passwords are looked up on the machine that connects.",
        "config.providers",
    )
    yield from _ignored(
        "Metrics of the JVM client; there are none here.",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "enable.metrics.push",
        "auto.include.jmx.reporter",
    )


def _reading() -> Iterator[KafkaOption]:
    yield from _honoured(
        "isolation.level",
        "read_committed",
        _committed,
        default="read_uncommitted",
        note="`read_committed` leaves out records of aborted transactions and waits for open ones.",
    )
    yield from _honoured(
        "max.partition.fetch.bytes",
        "fetch_bytes",
        integer(1),
        default="8388608",
        note="Bytes asked of a partition in one Fetch; a larger batch is still read.",
    )
    yield from _honoured(
        "fetch.max.bytes",
        "fetch_max_bytes",
        integer(1),
        default="52428800",
        note="Upper bound of `max.partition.fetch.bytes`: one Fetch asks for one partition.",
    )
    yield from _honoured(
        "fetch.min.bytes",
        "fetch_min_bytes",
        integer(),
        default="1",
        note="Bytes that the broker waits for before it answers.",
    )
    yield from _honoured(
        "fetch.max.wait.ms",
        "fetch_max_wait_ms",
        integer(),
        default="500",
        note="Longest time that the broker waits for `fetch.min.bytes`.",
    )
    yield from _honoured(
        "check.crcs",
        "check_crcs",
        flag,
        default="true",
        note="Check the checksum of each batch that is read.",
    )
    yield from _honoured(
        "exclude.internal.topics",
        "exclude_internal_topics",
        flag,
        default="true",
        note="Leave internal topics out of those that `subscribePattern` matches.",
    )
    yield from _ignored("A read never creates a topic.", "allow.auto.create.topics")
    yield from _ignored(
        "Rows leave in Arrow batches; Spark limits a micro-batch by `maxOffsetsPerTrigger`.",
        "max.poll.records",
        "max.poll.interval.ms",
    )
    yield from _ignored(
        "Reads join no consumer group: offsets are in Spark's checkpoint. The broker checks READ"
        " on topics alone.",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "session.timeout.ms",
        "partition.assignment.strategy",
        "auto.commit.interval.ms",
        "internal.leave.group.on.close",
        "internal.throw.on.fetch.stable.offset.unsupported",
    )
    yield from _ignored(
        "Share groups are not used.", "share.acknowledgement.mode", "share.acquire.mode"
    )
    yield from _refused(
        "set startingOffsets to 'earliest' or 'latest' instead; Spark keeps track of what has been"
        " read, and a restarted query goes on where it stopped",
        "auto.offset.reset",
        side=Side.READ,
    )
    yield from _refused(
        "keys and values are read as binary columns; use DataFrame operations to deserialize them",
        "key.deserializer",
        "value.deserializer",
        side=Side.READ,
    )
    yield from _refused(
        "offsets are committed in Spark's checkpoint only", "enable.auto.commit", side=Side.READ
    )
    yield from _refused(
        "interceptors are Java classes, and may change records; use DataFrame operations",
        "interceptor.classes",
    )


def _committed(value: str) -> bool:
    return bool(choice("read_committed", "read_uncommitted")(value) == "read_committed")


def _writing() -> Iterator[KafkaOption]:
    yield from _honoured(
        "batch.size",
        "writing.batch_bytes",
        integer(1),
        default="131072",
        note="Bytes of one record batch before compression; a larger record is a batch of its own.",
    )
    yield from _honoured(
        "compression.type",
        "writing.compression",
        choice("none", "gzip", "snappy", "lz4", "zstd"),
        default="none",
        note="Codec of the batches.",
    )
    levels = {"gzip": (-1, 9), "lz4": (1, 17), "zstd": (-131072, 22)}
    for codec, (low, high) in levels.items():
        yield from _honoured(
            f"compression.{codec}.level",
            f"writing.{codec}_level",
            integer(low, high),
            default="",
            note=f"Compression level, where `compression.type` is {codec}.",
        )
    yield from _honoured(
        "max.request.size",
        "writing.largest_request",
        integer(1),
        default="1048576",
        note="Largest request; a batch that does not fit is an error.",
    )
    yield from _honoured(
        "buffer.memory",
        "writing.buffer_bytes",
        integer(1, LARGEST_LONG),
        default="33554432",
        note="Bytes that may be in flight in one task before it waits.",
    )
    yield from _honoured(
        "max.in.flight.requests.per.connection",
        "writing.in_flight",
        integer(1, 5),
        default="5",
        note="Requests in flight to one broker; an idempotent producer has at most 5.",
    )
    yield from _honoured(
        "delivery.timeout.ms",
        "writing.delivery_timeout_ms",
        integer(1),
        default="120000",
        note="Longest time for a batch with all its retries.",
    )
    yield from _honoured(
        "max.block.ms",
        "writing.max_block_ms",
        integer(0, LARGEST_LONG),
        default="60000",
        note="Longest wait for the metadata of a topic.",
    )
    yield from _honoured(
        "partitioner.ignore.keys",
        "writing.ignore_keys",
        flag,
        default="false",
        note="Spread records over all partitions even if they have a key.",
    )
    yield from _ignored("A write is always acknowledged by all in-sync replicas.", "acks")
    yield from _ignored("A write is always idempotent within one task.", "enable.idempotence")
    yield from _ignored("`delivery.timeout.ms` bounds the retries.", "retries")
    yield from _ignored("A batch is sent when it is full, or when its input ends.", "linger.ms")
    yield from _ignored(
        "Memory is taken for each batch as it is encoded.", "buffer.memory.allocation.strategy"
    )
    yield from _ignored(
        "Records without a key go to one partition after the other, batch by batch.",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.rack.aware",
    )
    yield from _refused(
        "is a Java class; compute the column partition instead",
        "partitioner.class",
        side=Side.WRITE,
    )
    yield from _refused(
        "keys and values are written as binary or string columns; use DataFrame operations to"
        " serialize them",
        "key.serializer",
        "value.serializer",
        side=Side.WRITE,
    )
    yield from _refused(
        "each task of a write has an id of its own; use `exactlyOnce=true` and"
        " `transactionalIdPrefix`",
        "transactional.id",
        side=Side.WRITE,
    )
    yield from _ignored(
        "The option of writes with `exactlyOnce=true` is `transactionTimeoutMs`.",
        "transaction.timeout.ms",
    )
    yield from _ignored(
        "An epoch is committed by the list of its transactions.",
        "transaction.two.phase.commit.enable",
        "internal.auto.downgrade.txn.commit",
    )


def _tls() -> Iterator[KafkaOption]:
    types = choice("JKS", "PKCS12", "PEM")
    for store, content in (
        ("truststore", "Certificates of the authorities that are trusted"),
        ("keystore", "Certificate and key of this client"),
    ):
        yield from _honoured(
            f"ssl.{store}.type",
            f"security.tls.{store}_type",
            types,
            default="",
            note="PEM or PKCS12. Without it, or with JKS, the content of the file decides. A JKS"
            " file is refused with the command that converts it.",
        )
        yield from _honoured(
            f"ssl.{store}.location",
            f"security.tls.{store}_location",
            text,
            default="",
            note=f"{content}: a PEM or PKCS12 file, which every executor has.",
        )
        yield from _honoured(
            f"ssl.{store}.password",
            f"security.tls.{store}_password",
            text,
            default="",
            note="Password of that PKCS12 file.",
            secret=True,
        )
    yield from _honoured(
        "ssl.truststore.certificates",
        "security.tls.truststore_certificates",
        text,
        default="",
        note="Trusted certificates as PEM text, with type PEM.",
        secret=True,
    )
    yield from _honoured(
        "ssl.keystore.certificate.chain",
        "security.tls.keystore_chain",
        text,
        default="",
        note="Certificate chain of this client as PEM text, with type PEM.",
        secret=True,
    )
    yield from _honoured(
        "ssl.keystore.key",
        "security.tls.keystore_key",
        text,
        default="",
        note="Private key of this client as PEM text (PKCS#8), with type PEM.",
        secret=True,
    )
    yield from _honoured(
        "ssl.key.password",
        "security.tls.key_password",
        text,
        default="",
        note="Password of the private key, where it is encrypted.",
        secret=True,
    )
    yield from _honoured(
        "ssl.endpoint.identification.algorithm",
        "security.tls.identification",
        _identification,
        default="https",
        note="`https`: the certificate must name the broker's host. Empty: the name is not"
        " checked.",
    )
    yield from _honoured(
        "ssl.enabled.protocols",
        "security.tls.protocols",
        _protocols,
        default="TLSv1.2,TLSv1.3",
        note="Versions of TLS; TLSv1.2 and TLSv1.3 are known.",
    )
    yield from _honoured(
        "ssl.cipher.suites",
        "security.tls.ciphers",
        words,
        default="",
        note="Cipher suites by their standard names. Suites of TLS 1.3 cannot be chosen one by one:"
        " naming one allows all of them, naming none of them turns TLS 1.3 off.",
    )
    yield from _ignored("`ssl.enabled.protocols` decides.", "ssl.protocol")
    yield from _ignored(
        "Choices among Java's security providers; TLS is done by OpenSSL.",
        "ssl.provider",
        "ssl.keymanager.algorithm",
        "ssl.trustmanager.algorithm",
        "ssl.secure.random.implementation",
        "security.providers",
    )
    yield from _refused(
        "is a Java class; TLS is set up by the other ssl options", "ssl.engine.factory.class"
    )


def _identification(value: str) -> str:
    if value.strip().lower() not in ("https", ""):
        raise ValueError(f"{value!r}: want https, or nothing to check no names")
    return value.strip().lower()


def _protocols(value: str) -> tuple[str, ...]:
    version_of = choice("TLSv1.2", "TLSv1.3")
    return tuple(str(version_of(name)) for name in words(value))


def _sasl() -> Iterator[KafkaOption]:
    yield from _honoured(
        "security.protocol",
        "security.protocol",
        choice("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        default="PLAINTEXT",
        note="Whether connections use TLS and SASL.",
    )
    yield from _honoured(
        "sasl.mechanism",
        "security.sasl.mechanism",
        text,
        default="",
        note="PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER. GSSAPI (Kerberos), Kafka's"
        " default, is refused: name another one.",
    )
    yield from _honoured(
        "sasl.jaas.config",
        "security.sasl.jaas",
        text,
        default="",
        note="Credentials, as a line for PlainLoginModule, ScramLoginModule or"
        " OAuthBearerLoginModule.",
        secret=True,
    )
    yield from _honoured(
        "sasl.login.callback.handler.class",
        "security.sasl.login_handler",
        text,
        default="",
        note="Kafka's own two handlers of OAUTHBEARER are known by name; others are refused.",
    )
    yield from _honoured(
        "sasl.oauthbearer.token.endpoint.url",
        "security.sasl.token_url",
        text,
        default="",
        note="Where a token is asked for with the client's credentials (`https:`), or a file that"
        " holds one (`file:`).",
    )
    yield from _honoured(
        "sasl.oauthbearer.client.credentials.client.id",
        "security.sasl.client_id_oauth",
        text,
        default="",
        note="Client id for the token endpoint; the JAAS option `clientId` does the same.",
    )
    yield from _honoured(
        "sasl.oauthbearer.client.credentials.client.secret",
        "security.sasl.client_secret",
        text,
        default="",
        note="Client secret for the token endpoint; as the JAAS option `clientSecret`.",
        secret=True,
    )
    yield from _honoured(
        "sasl.oauthbearer.scope",
        "security.sasl.scope",
        text,
        default="",
        note="Scope for the token endpoint; the JAAS option `scope` does the same.",
    )
    yield from _honoured(
        "sasl.login.connect.timeout.ms",
        "security.sasl.login_timeout_ms",
        integer(1),
        default="10000",
        note="Longest wait for the token endpoint.",
    )
    yield from _ignored(
        "`sasl.login.connect.timeout.ms` holds for connecting and reading.",
        "sasl.login.read.timeout.ms",
    )
    yield from _ignored(
        "A token is asked for when a connection opens, and once.",
        "sasl.login.retry.backoff.ms",
        "sasl.login.retry.backoff.max.ms",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
    )
    yield from _ignored(
        "Tokens are checked by the broker.",
        "sasl.oauthbearer.allow.unverified.audience",
        "sasl.oauthbearer.allow.unverified.issuer",
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.scope.claim.name",
        "sasl.oauthbearer.sub.claim.name",
        "sasl.oauthbearer.jwt.validator.class",
    )
    yield from _honoured(
        "sasl.oauthbearer.header.urlencode",
        "security.sasl.urlencode_header",
        flag,
        default="false",
        note="URL-encode client id and secret before they are sent, as RFC 6749 demands.",
    )
    yield from _refused(
        "client assertions are not supported: use a client id and secret, or a token file",
        "sasl.oauthbearer.assertion.algorithm",
        "sasl.oauthbearer.assertion.claim.aud",
        "sasl.oauthbearer.assertion.claim.exp.seconds",
        "sasl.oauthbearer.assertion.claim.iss",
        "sasl.oauthbearer.assertion.claim.jti.include",
        "sasl.oauthbearer.assertion.claim.nbf.seconds",
        "sasl.oauthbearer.assertion.claim.sub",
        "sasl.oauthbearer.assertion.file",
        "sasl.oauthbearer.assertion.private.key.file",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.template.file",
    )
    yield from _refused(
        "is a Java class; credentials come from sasl.jaas.config and the sasl.oauthbearer options",
        "sasl.client.callback.handler.class",
        "sasl.login.class",
        "sasl.oauthbearer.jwt.retriever.class",
    )
    yield from _ignored(
        "Kerberos is refused as `sasl.mechanism`; without it, this has no effect.",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.service.name",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
    )


def _table() -> dict[str, KafkaOption]:
    options: dict[str, KafkaOption] = {}
    for part in (_connection, _reading, _writing, _tls, _sasl):
        for option in part():
            if option.name in options:
                raise ValueError(f"{option.name} stands in the table twice")
            options[option.name] = option
    return dict(sorted(options.items()))


KAFKA_OPTIONS: Final[Mapping[str, KafkaOption]] = _table()
