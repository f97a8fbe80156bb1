"""Settings of Kafka's clients that are accepted and have no effect here, each with the reason.

A field of a client's settings goes before its row here: `client.rack` has an effect in consumers.
"""

from collections.abc import Mapping
from typing import Final

_OBJECTS: Final = "pass the function itself to the call that opens the client"
_METRICS: Final = "`metrics()` of a client returns them, and brokers get them by telemetry"
_REASONS: Final[Mapping[str, str]] = {
    "Kerberos is not implemented": """
        sasl.kerberos.kinit.cmd
        sasl.kerberos.min.time.before.relogin sasl.kerberos.service.name
        sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor
    """,
    "Java classes cannot run here: credentials come from sasl.jaas.config": """
        sasl.client.callback.handler.class sasl.login.class
    """,
    "assertions are not implemented: use a client id and secret, or a file with a token": """
        sasl.oauthbearer.assertion.algorithm
        sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds
        sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.jti.include
        sasl.oauthbearer.assertion.claim.nbf.seconds sasl.oauthbearer.assertion.claim.sub
        sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.private.key.file
        sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.template.file
    """,
    "tokens are checked by brokers": """
        sasl.oauthbearer.allow.unverified.audience
        sasl.oauthbearer.allow.unverified.issuer sasl.oauthbearer.clock.skew.seconds
        sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer
        sasl.oauthbearer.jwks.endpoint.refresh.ms
        sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
        sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
    """,
    "it is about the Java runtime": """
        security.providers ssl.engine.factory.class ssl.keymanager.algorithm ssl.provider
        ssl.secure.random.implementation ssl.trustmanager.algorithm
    """,
    _METRICS: """
        metric.reporters metrics.recording.level
    """,
    _OBJECTS: """
        key.deserializer key.serializer partitioner.class value.deserializer
        value.serializer
    """,
    "every address of a name is tried": "bootstrap.resolve.timeout.ms",
    "controllers are not asked directly yet": "bootstrap.controllers",
    "an answer of another cluster is not detected yet": "metadata.cluster.check.enable",
    "values are written down as they are": "config.providers",
    "memory is counted by record": "buffer.memory.allocation.strategy",
    "partitions of slow brokers are avoided by their queues alone": """
        partitioner.availability.timeout.ms
    """,
    "partitions are not chosen by rack": "client.rack partitioner.rack.aware",
    "two-phase commits are not implemented yet": "transaction.two.phase.commit.enable",
    "share groups are not implemented yet": "share.acknowledgement.mode share.acquire.mode",
    "a broker without stable offsets is older than the oldest that is supported": """
        internal.throw.on.fetch.stable.offset.unsupported
    """,
}
WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    name: reason for reason, names in _REASONS.items() for name in names.split()
}
