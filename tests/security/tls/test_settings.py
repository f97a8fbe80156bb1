import pytest

from trio_kafka.config.load import broker_config
from trio_kafka.config.setting import ConfigError
from trio_kafka.security.tls.settings import TlsSettings

SECRET = "s3cret"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (
            {"keystore_key": SECRET},
            "ssl.keystore.key: can only be given with ssl.keystore.type=PEM",
        ),
        (
            {"keystore_type": "PEM", "keystore_key": SECRET},
            "ssl.keystore.certificate.chain: is missing",
        ),
        (
            {"keystore_type": "PEM", "keystore_certificate_chain": "c"},
            "ssl.keystore.key: is missing",
        ),
        (
            {
                "keystore_type": "PEM",
                "keystore_key": SECRET,
                "keystore_certificate_chain": "c",
                "keystore_location": "l",
            },
            "stands beside ssl.keystore.location",
        ),
        ({"keystore_password": SECRET}, "ssl.keystore.location: is missing"),
        (
            {"keystore_type": "PEM", "keystore_location": "l", "keystore_password": SECRET},
            "ssl.keystore.password: PEM files have no password",
        ),
        ({"keystore_type": "BCFKS"}, "ssl.keystore.type: 'BCFKS' is not supported"),
        (
            {"truststore_certificates": "c"},
            "ssl.truststore.certificates: can only be given with ssl.truststore.type=PEM",
        ),
        (
            {
                "truststore_type": "PEM",
                "truststore_certificates": "c",
                "truststore_location": "l",
            },
            "stands beside ssl.truststore.location",
        ),
        ({"truststore_password": SECRET}, "ssl.truststore.location: is missing"),
    ],
)
def test_stores_that_contradict_themselves_are_refused(
    settings: dict[str, object], reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        TlsSettings(**settings).check()
    assert SECRET not in str(caught.value)


def test_settings_of_a_broker_have_kafkas_defaults_and_show_no_secret() -> None:
    assert TlsSettings.from_fields(broker_config()) == TlsSettings()
    settings = TlsSettings.from_fields(broker_config({"ssl.key.password": SECRET}))
    assert settings.key_password == SECRET
    assert SECRET not in repr(settings)
