"""Settings of librdkafka that Java's clients call otherwise, or do not have.

Source: librdkafka's CONFIGURATION.md, 2.x.
"""

from collections.abc import Mapping
from typing import Final

RENAMED: Final[Mapping[str, str]] = {
    "metadata.broker.list": "bootstrap.servers",
    "topic.metadata.refresh.interval.ms": "metadata.max.age.ms",
    "socket.timeout.ms": "request.timeout.ms",
    "socket.send.buffer.bytes": "send.buffer.bytes",
    "socket.receive.buffer.bytes": "receive.buffer.bytes",
    "queue.buffering.max.ms": "linger.ms",
    "message.send.max.retries": "retries",
    "message.timeout.ms": "delivery.timeout.ms",
    "message.max.bytes": "max.request.size",
    "request.required.acks": "acks",
    "compression.codec": "compression.type",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "group.protocol.type": "group.protocol",
    "sasl.mechanisms": "sasl.mechanism",
    "sasl.oauthbearer.client.id": "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.secret": "sasl.oauthbearer.client.credentials.client.secret",
}
LOGIN: Final = ("sasl.username", "sasl.password")
"""Parts of what is `sasl.jaas.config` in Java's clients."""
OIDC: Final[Mapping[str, str]] = {
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.grant.type": "client_credentials",
}
"""How tokens are got, by setting: the one way that our clients know."""
EXTENSIONS: Final = "sasl.oauthbearer.extensions"
"""Extensions NAME=VALUE, separated by commas; options of the login line in Java's clients."""
STORES: Final[Mapping[str, str]] = {
    "ssl.ca": "ssl.truststore.certificates",
    "ssl.certificate": "ssl.keystore.certificate.chain",
    "ssl.key": "ssl.keystore.key",
}
"""Java's names for `<name>.pem` and for the file `<name>.location`, as PEM."""
TRANSLATED: Final[Mapping[tuple[str, str], str]] = {
    ("auto.offset.reset", "smallest"): "earliest",
    ("auto.offset.reset", "beginning"): "earliest",
    ("auto.offset.reset", "largest"): "latest",
    ("auto.offset.reset", "end"): "latest",
    ("auto.offset.reset", "error"): "none",
}
"""Values by setting of Java's clients and value of librdkafka."""
_WITHOUT_EFFECT: Final = """
    api.version.fallback.ms api.version.request api.version.request.timeout.ms
    broker.address.family broker.address.ttl broker.version.fallback builtin.features
    compression.level consume.callback.max.messages debug delivery.report.only.error
    enable.auto.offset.store enable.gapless.guarantee enable.partition.eof
    enable.random.seed enable.sparse.connections fetch.error.backoff.ms fetch.queue.backoff.ms
    internal.termination.signal log.connection.close log.queue log.thread.name log_level
    max.in.flight.requests message.copy.max.bytes offset.store.method open_cb partitioner
    queue.buffering.backpressure.threshold queue.buffering.max.kbytes
    queue.buffering.max.messages queued.max.messages.kbytes queued.min.messages
    queuing.strategy receive.message.max.bytes
    socket.blocking.max.ms socket.keepalive.enable socket.max.fails socket.nagle.disable
    ssl.ca.certificate.stores ssl.crl.location ssl.curves.list ssl.engine.id
    ssl.engine.location ssl.providers ssl.sigalgs.list statistics.interval.ms
    sticky.partitioning.linger.ms topic.blacklist topic.metadata.propagation.max.ms
    topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.sparse
    enable.ssl.certificate.verification
    """
WITHOUT_EFFECT: Final = frozenset(_WITHOUT_EFFECT.split())
