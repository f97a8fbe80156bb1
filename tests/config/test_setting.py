from math import inf, nextafter

import pytest
from attrs import frozen

from tests.lanes import together
from trio_kafka.config.catalogue import every_setting
from trio_kafka.config.setting import (
    ConfigError,
    Outside,
    Setting,
    Update,
    derived_from,
    double,
    int16,
    int32,
    int64,
    setting,
    settings_of,
    string,
    string_list,
)
from trio_kafka.config.topic import TOPIC_SETTINGS
from trio_kafka.config.values import Kind


@frozen(kw_only=True)
class Example:
    plain: int = 0
    max_wait_ms: int = int64(500, "How long.", low=0, update=Update.PER_BROKER)
    level: int = int32(-1, "Level.", low=1, high=9, also=(-1,))
    replicas: int = int16(3, "Replicas.", low=1)
    ratio: float = double(0.5, "Share.", low=0, high=1)
    codec: str = string("gzip", "Codec.", choices=("gzip", "zstd"))
    policies: tuple[str, ...] = string_list(("delete",), "Policies.", choices=("delete", "compact"))
    dirs: tuple[str, ...] = string_list(("/d",), "Directories.", not_empty=True)
    key: str | None = setting(Kind.PASSWORD, None, "A secret.")


EXAMPLE = settings_of(Example)


def test_the_name_of_a_setting_is_its_field_name_with_dots():
    assert list(EXAMPLE) == [
        "max.wait.ms",
        "level",
        "replicas",
        "ratio",
        "codec",
        "policies",
        "dirs",
        "key",
    ]
    assert EXAMPLE["max.wait.ms"].field == "max_wait_ms"
    assert EXAMPLE["max.wait.ms"].update is Update.PER_BROKER


def test_a_derived_setting_copies_the_original_except_for_given_arguments():
    @frozen(kw_only=True)
    class Alike:
        wait_ms: int = derived_from(EXAMPLE["max.wait.ms"])
        own_level: int = derived_from(EXAMPLE["level"], default=5, doc="Own.")
        own_codec: str = derived_from(EXAMPLE["codec"], server=(("codec", 1),))

    wait, level, codec = settings_of(Alike).values()

    assert (wait.kind, wait.default, wait.doc, wait.low) == (Kind.LONG, 500, "How long.", 0)
    assert wait.update is Update.READ_ONLY
    assert (level.default, level.doc, level.low, level.high, level.also) == (5, "Own.", 1, 9, (-1,))
    assert (codec.name, codec.choices, codec.server) == (
        "own.codec",
        ("gzip", "zstd"),
        (("codec", 1),),
    )


@pytest.mark.parametrize(
    ("name", "kind", "unit"),
    [
        ("max.wait.ms", Kind.LONG, "ms"),
        ("socket.request.max.bytes", Kind.INT, "B"),
        ("message.timestamp.after.max.ms", Kind.LONG, "ms"),
        ("metadata.log.max.record.bytes.between.snapshots", Kind.LONG, "B"),
        ("log.retention.hours", Kind.INT, "h"),
        ("num.partitions", Kind.INT, None),
        ("bytes.of.text", Kind.STRING, None),
    ],
)
def test_the_unit_of_a_numeric_setting_follows_from_a_word_of_its_name(name, kind, unit):
    assert Setting(name=name, kind=kind, default=0, doc="").unit == unit


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("max.wait.ms", "-1", "-1 is too small: want at least 0"),
        ("max.wait.ms", "soon", "'soon' is not a whole number"),
        ("level", "0", "0 is too small: want 1 to 9 or -1"),
        ("level", "10", "10 is too large: want 1 to 9 or -1"),
        ("ratio", "1.5", "1.5 is too large: want 0 to 1"),
        ("codec", "lz4", "'lz4' is not one of gzip, zstd"),
        ("policies", "delete,keep", "'keep' is not one of delete, compact"),
        ("policies", "delete,delete", "'delete,delete' has an item twice: remove one"),
        ("dirs", "", "must not be empty"),
        ("dirs", "/a,,/b", "'/a,,/b' has an empty item: remove a comma"),
    ],
)
def test_an_invalid_value_is_refused_with_the_found_value_and_the_bounds(name, text, reason):
    with pytest.raises(ConfigError) as caught:
        EXAMPLE[name].parse(text)

    assert (caught.value.name, caught.value.reason) == (name, reason)
    assert str(caught.value) == f"{name}: {reason}"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("max.wait.ms", "0", 0),
        ("level", "-1", -1),
        ("level", "1", 1),
        ("level", "9", 9),
        ("ratio", "1", 1.0),
        ("policies", "", ()),
        ("policies", "compact,delete", ("compact", "delete")),
    ],
)
def test_values_at_the_bounds_are_allowed(name, text, value):
    assert EXAMPLE[name].parse(text) == value


def test_a_secret_is_never_shown():
    assert EXAMPLE["key"].sensitive
    assert EXAMPLE["key"].show("s3cret") is None
    assert not EXAMPLE["level"].sensitive


def test_the_text_of_a_config_error_begins_with_its_place():
    error = ConfigError("num.partitions", "is odd", "server.properties:7")

    assert str(error) == "server.properties:7: num.partitions: is odd"


ALL = [*every_setting().values(), *TOPIC_SETTINGS.values()]


def past(setting, bound, step):
    """The nearest value beyond a bound, and whether the type has it at all."""
    if setting.kind is Kind.DOUBLE:
        return nextafter(bound, step * inf)
    return int(bound) + step


@together([s for s in ALL if s.low is not None], lambda setting: setting.name)
def test_each_setting_allows_its_lower_bound_and_refuses_smaller_values(setting):
    assert setting.parse(setting.text_of(setting.low)) == setting.low
    assert setting.parse(setting.text_of(past(setting, setting.low, 1))) > setting.low
    below = past(setting, setting.low, -1)
    if below not in setting.also:
        with pytest.raises(ConfigError, match="is too small"):
            setting.parse(setting.text_of(below))
    for other in setting.also:
        assert setting.parse(setting.text_of(other)) == other


@together([s for s in ALL if s.high is not None], lambda setting: setting.name)
def test_each_setting_allows_its_upper_bound_and_refuses_larger_values(setting):
    assert setting.parse(setting.text_of(setting.high)) == setting.high
    assert setting.parse(setting.text_of(past(setting, setting.high, -1))) < setting.high
    with pytest.raises(ConfigError, match="is too large"):
        setting.parse(setting.text_of(past(setting, setting.high, 1)))


BITS = {Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}


@together([s for s in ALL if s.kind in BITS], lambda setting: setting.name)
def test_each_numeric_setting_refuses_values_beyond_the_width_of_its_type(setting):
    most = (1 << (BITS[setting.kind] - 1)) - 1

    with pytest.raises(ConfigError, match="is out of range"):
        setting.parse(str(most + 1))
    with pytest.raises(ConfigError, match="is out of range"):
        setting.parse(str(-most - 2))
    if setting.high is None:
        assert setting.parse(str(most)) == most


@together([s for s in ALL if s.choices], lambda setting: setting.name)
def test_each_setting_with_choices_accepts_only_its_choices(setting):
    for choice in setting.choices:
        assert setting.parse(choice) in (choice, (choice,))
    with pytest.raises(ConfigError, match="is not one of"):
        setting.parse("another")


@together([s for s in ALL if s.not_empty], lambda setting: setting.name)
def test_settings_that_must_not_be_empty_refuse_an_empty_text(setting):
    with pytest.raises(ConfigError, match="must not be empty"):
        setting.parse("")


@together([s for s in ALL if not s.required], lambda setting: setting.name)
def test_each_default_is_a_valid_value(setting):
    if setting.default is not None:
        setting.check_value(setting.default)


@pytest.mark.parametrize("outside", Outside)
@pytest.mark.parametrize("update", [Update.PER_BROKER, Update.CLUSTER_WIDE])
def test_a_setting_that_names_something_outside_the_broker_must_be_read_only(outside, update):
    kind, common = Kind.STRING, {"name": "a", "default": None, "doc": ""}

    assert Setting(kind=kind, names=outside, **common).update is Update.READ_ONLY
    with pytest.raises(ConfigError, match=f"a: names a {outside.value}, so it must be read-only"):
        Setting(kind=kind, names=outside, update=update, **common)


def test_only_list_settings_have_a_default_list():
    settings = every_setting()

    assert TOPIC_SETTINGS["cleanup.policy"].default_list() == "delete"
    assert TOPIC_SETTINGS["follower.replication.throttled.replicas"].default_list() == ""
    assert settings["ssl.enabled.protocols"].default_list() == "TLSv1.2,TLSv1.3"
    assert settings["process.roles"].default_list() == ""
    assert TOPIC_SETTINGS["retention.ms"].default_list() is None
