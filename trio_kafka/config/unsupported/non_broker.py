"""Names of Kafka's settings for groups, clients and tools, with their support here."""

from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.config.unsupported import Support


@frozen
class NonBrokerSettings:
    """Settings of one kind of resource or program. why: the reason for their support here."""

    title: str
    support: Support
    why: str
    names: tuple[str, ...]


def _settings(title: str, support: Support, why: str, names: str) -> NonBrokerSettings:
    return NonBrokerSettings(title, support, why, tuple(names.split()))


NON_BROKER_SETTINGS: Final = (
    _settings(
        "Consumer groups",
        Support.SUPPORTED,
        "each overrides the broker's `group.consumer.…`, within its bounds; "
        "kafka-configs.sh sets them while a broker runs",
        """
            consumer.assignment.interval.ms consumer.heartbeat.interval.ms
            consumer.session.timeout.ms
        """,
    ),
    _settings(
        "Assignors of consumer groups",
        Support.NOT_APPLICABLE,
        "one loop serves all groups",
        """
            consumer.assignor.offload.enable
        """,
    ),
    _settings(
        "Share and streams groups",
        Support.NOT_YET,
        "share and streams groups are not implemented",
        """
            errors.deadletterqueue.copy.record.enable errors.deadletterqueue.topic.name
            share.assignment.interval.ms share.assignor.offload.enable share.auto.offset.reset
            share.delivery.count.limit share.heartbeat.interval.ms share.isolation.level
            share.partition.max.record.locks share.record.lock.duration.ms
            share.renew.acknowledge.enable share.session.timeout.ms
            streams.acceptable.recovery.lag streams.assignment.interval.ms streams.assignor.name
            streams.assignor.offload.enable streams.heartbeat.interval.ms
            streams.initial.rebalance.delay.ms streams.num.standby.replicas
            streams.num.warmup.replicas streams.rack.aware.assignment.tags
            streams.session.timeout.ms streams.task.offset.interval.ms
        """,
    ),
    _settings(
        "Subscriptions to client metrics",
        Support.NOT_YET,
        "metrics are not implemented",
        """
            interval.ms match metrics
        """,
    ),
    _settings(
        "Quotas of users, clients and addresses",
        Support.NOT_APPLICABLE,
        "quotas are no settings of files: kafka-configs.sh sets them while a broker runs",
        """
            connection_creation_rate consumer_byte_rate controller_mutation_rate
            producer_byte_rate request_percentage
        """,
    ),
    _settings(
        "Credentials of users",
        Support.NOT_YET,
        "SASL is not implemented",
        """
            SCRAM-SHA-256 SCRAM-SHA-512
        """,
    ),
    _settings(
        "Remote log metadata, with the prefix `rlmm.config.`",
        Support.NOT_YET,
        "tiered storage is not implemented",
        """
            remote.log.metadata.consume.wait.ms
            remote.log.metadata.initialization.retry.interval.ms
            remote.log.metadata.initialization.retry.max.timeout.ms
            remote.log.metadata.topic.min.isr remote.log.metadata.topic.num.partitions
            remote.log.metadata.topic.replication.factor remote.log.metadata.topic.retention.ms
        """,
    ),
    _settings(
        "Producers, consumers and admin clients",
        Support.NOT_APPLICABLE,
        "a client uses them in its own process, and a broker never sees them",
        """
            acks allow.auto.create.topics auto.commit.interval.ms auto.offset.reset batch.size
            bootstrap.controllers bootstrap.resolve.timeout.ms bootstrap.servers buffer.memory
            buffer.memory.allocation.strategy check.crcs client.dns.lookup client.id client.rack
            compression.gzip.level compression.lz4.level compression.type compression.zstd.level
            config.providers connections.max.idle.ms default.api.timeout.ms delivery.timeout.ms
            enable.auto.commit enable.idempotence enable.metrics.push exclude.internal.topics
            fetch.max.bytes fetch.max.wait.ms fetch.min.bytes group.id group.instance.id
            group.protocol group.remote.assignor heartbeat.interval.ms interceptor.classes
            internal.throw.on.fetch.stable.offset.unsupported isolation.level key.deserializer
            key.serializer linger.ms max.block.ms max.in.flight.requests.per.connection
            max.partition.fetch.bytes max.poll.interval.ms max.poll.records max.request.size
            metadata.cluster.check.enable metadata.max.age.ms metadata.max.idle.ms
            metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy metric.reporters
            metrics.num.samples metrics.recording.level metrics.sample.window.ms
            partition.assignment.strategy partitioner.adaptive.partitioning.enable
            partitioner.availability.timeout.ms partitioner.class partitioner.ignore.keys
            partitioner.rack.aware receive.buffer.bytes reconnect.backoff.max.ms
            reconnect.backoff.ms request.timeout.ms retries retry.backoff.max.ms
            retry.backoff.ms sasl.client.callback.handler.class sasl.jaas.config
            sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
            sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter
            sasl.kerberos.ticket.renew.window.factor sasl.login.callback.handler.class
            sasl.login.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms
            sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds
            sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
            sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism
            sasl.oauthbearer.allow.unverified.audience sasl.oauthbearer.allow.unverified.issuer
            sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
            sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
            sasl.oauthbearer.assertion.claim.jti.include
            sasl.oauthbearer.assertion.claim.nbf.seconds sasl.oauthbearer.assertion.claim.sub
            sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.private.key.file
            sasl.oauthbearer.assertion.private.key.passphrase
            sasl.oauthbearer.assertion.template.file
            sasl.oauthbearer.client.credentials.client.id
            sasl.oauthbearer.client.credentials.client.secret
            sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience
            sasl.oauthbearer.expected.issuer sasl.oauthbearer.header.urlencode
            sasl.oauthbearer.jwks.endpoint.refresh.ms
            sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
            sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
            sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class
            sasl.oauthbearer.scope sasl.oauthbearer.scope.claim.name
            sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url
            security.protocol security.providers send.buffer.bytes session.timeout.ms
            share.acknowledgement.mode share.acquire.mode socket.connection.setup.timeout.max.ms
            socket.connection.setup.timeout.ms ssl.cipher.suites ssl.enabled.protocols
            ssl.endpoint.identification.algorithm ssl.engine.factory.class ssl.key.password
            ssl.keymanager.algorithm ssl.keystore.certificate.chain ssl.keystore.key
            ssl.keystore.location ssl.keystore.password ssl.keystore.type ssl.protocol
            ssl.provider ssl.secure.random.implementation ssl.trustmanager.algorithm
            ssl.truststore.certificates ssl.truststore.location ssl.truststore.password
            ssl.truststore.type transaction.timeout.ms transaction.two.phase.commit.enable
            transactional.id value.deserializer value.serializer
        """,
    ),
)
