"""Options of SASL and of the security protocol."""

from collections.abc import Iterator

from trio_kafka_spark.client.options.option import KafkaOption, honoured, ignored, refused
from trio_kafka_spark.client.values import choice, flag, integer, text


def sasl_options() -> Iterator[KafkaOption]:
    """Yield the options of SASL, and the security protocol."""
    yield from honoured(
        "security.protocol",
        "security.protocol",
        choice("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        default="PLAINTEXT",
        note="Whether connections use TLS and SASL.",
    )
    yield from honoured(
        "sasl.mechanism",
        "security.sasl.mechanism",
        text,
        default="",
        note="PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER. GSSAPI (Kerberos), Kafka's"
        " default, is refused: name another one.",
    )
    yield from honoured(
        "sasl.jaas.config",
        "security.sasl.jaas",
        text,
        default="",
        note="Credentials, as a line for PlainLoginModule, ScramLoginModule or"
        " OAuthBearerLoginModule.",
        secret=True,
    )
    yield from honoured(
        "sasl.login.callback.handler.class",
        "security.sasl.login_handler",
        text,
        default="",
        note="Kafka's own two handlers of OAUTHBEARER are known by name; others are refused.",
    )
    yield from honoured(
        "sasl.oauthbearer.token.endpoint.url",
        "security.sasl.token_url",
        text,
        default="",
        note="Where a token is asked for with the client's credentials (`https:`), or a file that"
        " holds one (`file:`).",
    )
    yield from honoured(
        "sasl.oauthbearer.client.credentials.client.id",
        "security.sasl.client_id_oauth",
        text,
        default="",
        note="Client id for the token endpoint; the JAAS option `clientId` does the same.",
    )
    yield from honoured(
        "sasl.oauthbearer.client.credentials.client.secret",
        "security.sasl.client_secret",
        text,
        default="",
        note="Client secret for the token endpoint; as the JAAS option `clientSecret`.",
        secret=True,
    )
    yield from honoured(
        "sasl.oauthbearer.scope",
        "security.sasl.scope",
        text,
        default="",
        note="Scope for the token endpoint; the JAAS option `scope` does the same.",
    )
    yield from honoured(
        "sasl.login.connect.timeout.ms",
        "security.sasl.login_timeout_ms",
        integer(1),
        default="10000",
        note="Longest wait for the token endpoint.",
    )
    yield from ignored(
        "`sasl.login.connect.timeout.ms` holds for connecting and reading.",
        "sasl.login.read.timeout.ms",
    )
    yield from ignored(
        "A token is asked for when a connection opens, and once.",
        "sasl.login.retry.backoff.ms",
        "sasl.login.retry.backoff.max.ms",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
    )
    yield from ignored(
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
    yield from honoured(
        "sasl.oauthbearer.header.urlencode",
        "security.sasl.urlencode_header",
        flag,
        default="false",
        note="URL-encode client id and secret before they are sent, as RFC 6749 demands.",
    )
    yield from refused(
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
    yield from refused(
        "is a Java class; credentials come from sasl.jaas.config and the sasl.oauthbearer options",
        "sasl.client.callback.handler.class",
        "sasl.login.class",
        "sasl.oauthbearer.jwt.retriever.class",
    )
    yield from ignored(
        "Kerberos is refused as `sasl.mechanism`; without it, this has no effect.",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.service.name",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
    )
