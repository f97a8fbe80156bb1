"""Kafka's other broker settings: accepted and type-checked, but without an effect here.

Together with the fields of `BrokerConfig` these are all broker settings of Apache Kafka 4.4.0 and
the two of its own authorizer; a test compares them. `UNHEARD` has those fields that no part obeys
yet: they are described like the others; a test compares it with what the code reads.
"""

from collections.abc import Mapping
from typing import Final

from trio_kafka.config.values import Kind

NOT_YET: Final = "is not honoured yet"
MEANINGLESS: Final = "has no meaning here"

# Settings of a listener or of Kafka's own plugins, by what their names begin with.
_PREFIXES: Final = ("listener.name.", "rlmm.config.", "rsm.config.")

_NOT_YET: Final = {
    Kind.BOOLEAN: """
        allow.everyone.if.no.acl.found auto.leader.rebalance.enable
        controller.quorum.auto.join.enable errors.deadletterqueue.auto.create.topics.enable
        follower.fetch.last.tiered.offset.enable group.consumer.assignor.offload.enable
        group.share.assignor.offload.enable group.streams.assignor.offload.enable
        log.cleaner.enable remote.log.storage.system.enable
        sasl.oauthbearer.allow.unverified.audience sasl.oauthbearer.allow.unverified.issuer
        sasl.oauthbearer.assertion.claim.jti.include ssl.allow.dn.changes ssl.allow.san.changes
        transaction.partition.verification.enable transaction.two.phase.commit.enable
        unstable.feature.versions.enable
    """,
    Kind.STRING: """
        errors.deadletterqueue.topic.name.prefix group.consumer.migration.policy
        max.connections.per.ip.overrides metrics.recording.level
        remote.log.metadata.manager.listener.name sasl.kerberos.service.name
        sasl.mechanism.controller.protocol sasl.mechanism.inter.broker.protocol
        sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
        sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.sub
        sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.private.key.file
        sasl.oauthbearer.assertion.template.file sasl.oauthbearer.client.credentials.client.id
        sasl.oauthbearer.expected.issuer sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.scope
        sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
        sasl.oauthbearer.token.endpoint.url ssl.client.auth ssl.endpoint.identification.algorithm
        ssl.keystore.location ssl.keystore.type ssl.principal.mapping.rules ssl.protocol
        ssl.truststore.location ssl.truststore.type super.users
    """,
    Kind.INT: """
        add.partitions.to.txn.retry.backoff.max.ms add.partitions.to.txn.retry.backoff.ms
        alter.log.dirs.replication.quota.window.num
        alter.log.dirs.replication.quota.window.size.seconds
        connection.failed.authentication.delay.ms controller.quorum.fetch.max.bytes
        controller.quorum.fetch.snapshot.max.bytes controller.quota.window.num
        controller.quota.window.size.seconds controller.socket.timeout.ms
        group.consumer.assignment.interval.ms group.consumer.heartbeat.interval.ms
        group.consumer.max.assignment.interval.ms group.consumer.max.heartbeat.interval.ms
        group.consumer.max.session.timeout.ms group.consumer.max.size
        group.consumer.min.assignment.interval.ms group.consumer.min.heartbeat.interval.ms
        group.consumer.min.session.timeout.ms group.consumer.regex.refresh.interval.ms
        group.consumer.session.timeout.ms group.coordinator.append.linger.ms
        group.coordinator.background.threads group.coordinator.cached.buffer.max.bytes
        group.coordinator.threads group.initial.rebalance.delay.ms group.max.session.timeout.ms
        group.max.size group.min.session.timeout.ms group.share.assignment.interval.ms
        group.share.delivery.count.limit group.share.heartbeat.interval.ms
        group.share.initialize.retry.interval.ms group.share.max.assignment.interval.ms
        group.share.max.delivery.count.limit group.share.max.heartbeat.interval.ms
        group.share.max.partition.max.record.locks group.share.max.record.lock.duration.ms
        group.share.max.session.timeout.ms group.share.max.share.sessions group.share.max.size
        group.share.min.assignment.interval.ms group.share.min.delivery.count.limit
        group.share.min.heartbeat.interval.ms group.share.min.partition.max.record.locks
        group.share.min.record.lock.duration.ms group.share.min.session.timeout.ms
        group.share.partition.max.record.locks group.share.record.lock.duration.ms
        group.share.session.timeout.ms group.streams.assignment.interval.ms
        group.streams.heartbeat.interval.ms group.streams.initial.rebalance.delay.ms
        group.streams.max.assignment.interval.ms group.streams.max.heartbeat.interval.ms
        group.streams.max.session.timeout.ms group.streams.max.size
        group.streams.max.standby.replicas group.streams.max.warmup.replicas
        group.streams.min.assignment.interval.ms group.streams.min.heartbeat.interval.ms
        group.streams.min.session.timeout.ms group.streams.min.task.offset.interval.ms
        group.streams.num.standby.replicas group.streams.num.warmup.replicas
        group.streams.session.timeout.ms group.streams.task.offset.interval.ms
        internal.metadata.log.segment.bytes internal.metadata.max.batch.size.in.bytes
        log.cleaner.io.buffer.size log.cleaner.threads max.connection.creation.rate
        max.connections max.connections.per.ip metrics.num.samples
        num.replica.alter.log.dirs.threads offset.metadata.max.bytes offsets.commit.timeout.ms
        offsets.load.buffer.size offsets.retention.minutes quota.window.num
        quota.window.size.seconds remote.fetch.max.wait.ms
        remote.log.manager.copier.thread.pool.size remote.log.manager.copy.quota.window.num
        remote.log.manager.copy.quota.window.size.seconds
        remote.log.manager.expiration.thread.pool.size remote.log.manager.fetch.quota.window.num
        remote.log.manager.fetch.quota.window.size.seconds
        remote.log.manager.follower.thread.pool.size remote.log.manager.thread.pool.size
        remote.log.metadata.custom.metadata.max.bytes remote.log.reader.max.pending.tasks
        remote.log.reader.threads replication.quota.window.num
        replication.quota.window.size.seconds sasl.login.connect.timeout.ms
        sasl.login.read.timeout.ms sasl.oauthbearer.assertion.claim.exp.seconds
        sasl.oauthbearer.assertion.claim.nbf.seconds sasl.oauthbearer.clock.skew.seconds
        sasl.server.max.receive.size share.coordinator.append.linger.ms
        share.coordinator.cached.buffer.max.bytes
        share.coordinator.cold.partition.snapshot.interval.ms share.coordinator.load.buffer.size
        share.coordinator.snapshot.update.records.per.snapshot
        share.coordinator.state.topic.compression.codec
        share.coordinator.state.topic.num.partitions
        share.coordinator.state.topic.prune.interval.ms
        share.coordinator.state.topic.segment.bytes share.coordinator.threads
        share.coordinator.write.timeout.ms telemetry.max.bytes
        transaction.abort.timed.out.transaction.cleanup.interval.ms transaction.max.timeout.ms
        transaction.remove.expired.transaction.cleanup.interval.ms
        transaction.state.log.load.buffer.size transactional.id.expiration.ms
    """,
    Kind.SHORT: """
        sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds
        share.coordinator.state.topic.min.isr share.coordinator.state.topic.replication.factor
    """,
    Kind.LONG: """
        connections.max.reauth.ms controller.performance.always.log.threshold.ms
        controller.performance.sample.period.ms delegation.token.expiry.check.interval.ms
        delegation.token.expiry.time.ms delegation.token.max.lifetime.ms
        follower.replication.throttled.rate group.streams.acceptable.recovery.lag
        internal.metadata.delete.delay.millis leader.imbalance.check.interval.seconds
        leader.replication.throttled.rate log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size
        metrics.sample.window.ms offsets.retention.check.interval.ms queued.max.request.bytes
        remote.list.offsets.request.timeout.ms remote.log.index.file.cache.total.size.bytes
        remote.log.index.file.cache.ttl.ms remote.log.manager.copy.max.bytes.per.second
        remote.log.manager.fetch.max.bytes.per.second remote.log.manager.task.interval.ms
        remote.log.manager.task.retry.backoff.max.ms remote.log.manager.task.retry.backoff.ms
        replica.alter.log.dirs.io.max.bytes.per.second sasl.kerberos.min.time.before.relogin
        sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms
        sasl.oauthbearer.jwks.endpoint.refresh.ms
        sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
        sasl.oauthbearer.jwks.endpoint.retry.backoff.ms server.max.startup.time.ms
        socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
        unclean.leader.election.interval.ms
    """,
    Kind.DOUBLE: """
        log.cleaner.io.buffer.load.factor log.cleaner.io.max.bytes.per.second
        remote.log.manager.task.retry.jitter sasl.kerberos.ticket.renew.jitter
        sasl.kerberos.ticket.renew.window.factor sasl.login.refresh.window.factor
        sasl.login.refresh.window.jitter
    """,
    Kind.LIST: """
        config.providers cordoned.log.dirs early.start.listeners group.consumer.assignors
        group.coordinator.rebalance.protocols group.share.assignors group.streams.assignors
        group.streams.rack.aware.assignment.tags sasl.enabled.mechanisms
        sasl.kerberos.principal.to.local.rules sasl.oauthbearer.expected.audience
        ssl.cipher.suites ssl.enabled.protocols
    """,
    Kind.PASSWORD: """
        delegation.token.secret.key sasl.jaas.config
        sasl.oauthbearer.assertion.private.key.passphrase
        sasl.oauthbearer.client.credentials.client.secret ssl.key.password
        ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.password
        ssl.truststore.certificates ssl.truststore.password
    """,
}
_MEANINGLESS: Final = {
    Kind.STRING: """
        authorizer.class.name group.share.dlq.manager.class.name group.share.persister.class.name
        remote.log.metadata.manager.class.name remote.log.metadata.manager.class.path
        remote.log.metadata.manager.impl.prefix remote.log.storage.manager.class.name
        remote.log.storage.manager.class.path remote.log.storage.manager.impl.prefix
        replica.selector.class sasl.kerberos.kinit.cmd security.providers ssl.keymanager.algorithm
        ssl.provider ssl.secure.random.implementation ssl.trustmanager.algorithm
    """,
    Kind.INT: """
        delete.records.purgatory.purge.interval.requests fetch.purgatory.purge.interval.requests
        kafka.metrics.polling.interval.secs producer.purgatory.purge.interval.requests
        share.fetch.purgatory.purge.interval.requests
    """,
    Kind.LIST: """
        kafka.metrics.reporters metric.reporters
    """,
    Kind.CLASS: """
        alter.config.policy.class.name client.quota.callback.class create.topic.policy.class.name
        group.streams.topology.description.plugin.class principal.builder.class
        sasl.client.callback.handler.class sasl.login.callback.handler.class sasl.login.class
        sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class
        sasl.server.callback.handler.class ssl.engine.factory.class
    """,
}

_FIELDS_NOT_YET: Final = """
    background.threads broker.heartbeat.interval.ms controller.quorum.append.linger.ms
    controller.quorum.election.backoff.max.ms controller.quorum.election.timeout.ms
    controller.quorum.fetch.timeout.ms controller.quorum.request.timeout.ms
    controller.quorum.retry.backoff.ms initial.broker.registration.timeout.ms
    log.cleaner.delete.retention.ms log.cleaner.max.compaction.lag.ms
    log.cleaner.min.cleanable.ratio log.cleaner.min.compaction.lag.ms log.dir.failure.timeout.ms
    log.local.retention.bytes log.local.retention.ms log.preallocate log.remote.copy.lag.bytes
    log.remote.copy.lag.ms max.request.partition.size.limit metadata.max.idle.interval.ms
    metadata.max.retention.bytes metadata.max.retention.ms num.recovery.threads.per.data.dir
    num.replica.fetchers offsets.topic.compression.codec offsets.topic.num.partitions
    offsets.topic.replication.factor offsets.topic.segment.bytes replica.fetch.backoff.ms
    replica.fetch.max.bytes replica.fetch.min.bytes replica.fetch.response.max.bytes
    replica.fetch.wait.max.ms replica.high.watermark.checkpoint.interval.ms
    replica.lag.time.max.ms replica.socket.receive.buffer.bytes replica.socket.timeout.ms
    request.timeout.ms transaction.state.log.min.isr transaction.state.log.num.partitions
    transaction.state.log.replication.factor transaction.state.log.segment.bytes
    unclean.leader.election.enable unstable.api.versions.enable
"""


def _by_name(table: Mapping[Kind, str]) -> dict[str, Kind]:
    return {name: kind for kind, names in table.items() for name in names.split()}


_KINDS_NOT_YET: Final = _by_name(_NOT_YET)
_KINDS_MEANINGLESS: Final = _by_name(_MEANINGLESS)
UNHEARD: Final = frozenset(_FIELDS_NOT_YET.split())
KNOWN: Final[Mapping[str, Kind]] = _KINDS_NOT_YET | _KINDS_MEANINGLESS


def why_ignored(name: str) -> str | None:
    """Why a setting has no effect here; None for one that has, or that Kafka does not know."""
    if name in UNHEARD or name in _KINDS_NOT_YET or name.startswith(_PREFIXES):
        return NOT_YET
    return MEANINGLESS if name in _KINDS_MEANINGLESS else None
