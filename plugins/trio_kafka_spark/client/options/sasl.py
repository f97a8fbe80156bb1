"""Options of SASL, and the security protocol."""

from collections.abc import Iterator

from trio_kafka.config.oauth_login import OauthLoginSettings
from trio_kafka.config.setting import ConfigError, Setting, declared_settings
from trio_kafka.config.tls import TlsCommonSettings
from trio_kafka_spark.client.options.option import KafkaOption, honoured, ignored, refused
from trio_kafka_spark.client.values import Parser, choice, text


def sasl_options() -> Iterator[KafkaOption]:
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
    own = declared_settings(OauthLoginSettings).keys() - declared_settings(TlsCommonSettings).keys()
    for setting in map(declared_settings(OauthLoginSettings).__getitem__, sorted(own)):
        yield from honoured(
            setting.name,
            f"security.sasl.oauth.{setting.name}",
            _parser(setting),
            default=setting.show(setting.default) or "",
            note=setting.doc,
            secret=setting.sensitive,
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
    )
    yield from ignored(
        "Kerberos is refused as `sasl.mechanism`; without it, this has no effect.",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.service.name",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
    )


def _parser(setting: Setting) -> Parser:
    def parse(value: str) -> object:
        try:
            return setting.parse(value)
        except ConfigError as error:
            raise ValueError(error.reason) from None

    return parse
