import attrs

from trio_kafka.config.oauth_login import OauthLoginSettings
from trio_kafka.config.setting import declared_settings
from trio_kafka_spark.client.options import KAFKA_OPTIONS, Side, Use
from trio_kafka_spark.client.security import Sasl, Security, Tls
from trio_kafka_spark.client.settings import ClientSettings, WriteSettings

OAUTH = "security.sasl.oauth."  # by Kafka's names, with the settings of all clients
CLASSES = {
    "": ClientSettings,
    "security": Security,
    "security.tls": Tls,
    "security.sasl": Sasl,
    "writing": WriteSettings,
}


def test_each_honoured_option_has_a_field_in_the_settings() -> None:
    for option in KAFKA_OPTIONS.values():
        assert (option.target is not None) == (option.use is Use.HONOURED)
        if option.target is not None:
            if option.target.startswith(OAUTH):
                assert option.name in declared_settings(OauthLoginSettings)
                continue
            part, _, field = option.target.rpartition(".")
            assert field in {attribute.name for attribute in attrs.fields(CLASSES[part])}, (
                option.name
            )


def test_the_default_in_the_option_table_is_the_default_of_the_settings() -> None:
    settings = ClientSettings.from_options({"kafka.bootstrap.servers": "a:1"})
    for option in KAFKA_OPTIONS.values():
        if option.default and option.target is not None:
            if option.target.startswith(OAUTH):
                table = declared_settings(OauthLoginSettings)
                assert option.parse(option.default) == table[option.name].default, option.name
                continue
            value: object = settings
            for name in option.target.split("."):
                value = getattr(value, name)
            assert option.parse(option.default) == value, option.name


def test_no_two_options_set_the_same_field() -> None:
    targets = [option.target for option in KAFKA_OPTIONS.values() if option.target]

    assert len(targets) == len(set(targets))


def test_each_option_with_a_password_or_key_is_a_secret() -> None:
    words = ("password", "secret", "jaas", "certificate", "keystore.key", "passphrase")
    for name, option in KAFKA_OPTIONS.items():
        if option.use is Use.HONOURED:
            assert option.secret == any(word in name for word in words), name


def test_each_option_has_a_note_in_the_form_of_its_use() -> None:
    for option in KAFKA_OPTIONS.values():
        assert option.note, option.name
        assert "|" not in option.note
        assert option.note.endswith(".") == (option.use is not Use.REFUSED), option.name


def test_an_option_can_be_refused_for_reads_and_accepted_for_writes() -> None:
    option = KAFKA_OPTIONS["auto.offset.reset"]

    assert option.side is Side.READ
    assert (option.is_refused(for_writing=False), option.is_refused(for_writing=True)) == (
        True,
        False,
    )
