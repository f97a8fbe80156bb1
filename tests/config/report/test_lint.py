import pytest

from trio_kafka.config.load import load, options
from trio_kafka.config.properties import iterate_properties, parse_properties
from trio_kafka.config.report.lint import Level, lint, repeated
from trio_kafka.config.setting import ConfigError

CLASSES = ", ".join(
    f"org.apache.kafka.common.config.provider.{name}ConfigProvider"
    for name in ("EnvVar", "File", "Directory")
)


class Machine:
    variables = {"SECRET": "hunter22"}  # noqa: RUF012


def findings(text, *arguments):
    return [
        str(finding)
        for finding in lint([parse_properties(text, "f"), options(arguments)], Machine())
    ]


def test_a_valid_configuration_has_no_findings():
    assert findings("num.partitions=5\nlog.dirs=/a\nplugin.a.b=c") == []


def test_every_error_is_reported_with_its_file_and_line():
    assert findings("num.partitions=0\nnum.io.thread=3\nlog.cleaner.threads=x", "foo=1") == [
        "f:1: error: num.partitions: 0 is too small: want at least 1",
        "f:2: error: num.io.thread: no such setting: did you mean num.io.threads?",
        "f:3: error: log.cleaner.threads: 'x' is not a whole number",
        "-c: error: foo: no such setting",
    ]


def test_an_invalid_value_that_an_option_overrides_is_not_reported():
    assert findings("num.partitions=0", "num.partitions=1") == []


def test_settings_without_effect_and_deprecated_settings_are_warnings():
    assert findings("log.cleaner.enable=true\nbroker.id=1\nssl.provider=A") == [
        "f:1: warning: log.cleaner.enable is deprecated: leave it out",
        "f:2: warning: broker.id is deprecated: use node.id",
        "f:3: warning: ssl.provider does not apply here: it is about the Java runtime",
    ]


@pytest.mark.parametrize(
    ("text", "loser", "winner"),
    [
        ("log.retention.hours=1\nlog.retention.ms=5", "log.retention.hours", "log.retention.ms"),
        ("log.roll.hours=1\nlog.roll.ms=5", "log.roll.hours", "log.roll.ms"),
        ("log.dir=/a\nlog.dirs=/b", "log.dir", "log.dirs"),
    ],
)
def test_a_setting_overridden_by_its_synonym_is_a_warning(text, loser, winner):
    assert findings(text) == [
        f"f:1: warning: {loser} has no effect beside {winner}, which is given at f:2"
    ]


def test_two_similar_settings_of_different_meaning_are_no_warning():
    assert findings("log.flush.interval.ms=5\nlog.flush.scheduler.interval.ms=5") == []


def test_parameters_of_a_provider_missing_in_config_providers_are_a_warning():
    assert findings("config.providers=env\nconfig.providers.env.class=a") == [
        "f:2: error: config.providers.env.class: 'a' is not supported: want one of " + CLASSES
    ]
    assert findings("config.providers.env.class=a") == [
        "f:1: warning: config.providers.env.class has no effect: config.providers does not name env"
    ]


def test_contradictions_are_reported_only_when_each_value_is_valid():
    contradiction = "replica.lag.time.max.ms=5"

    assert findings(contradiction)[-1] == (
        "error: replica.fetch.wait.max.ms: 500 is above replica.lag.time.max.ms,"
        " so waiting would count as lag: lower it"
    )
    assert findings(f"{contradiction}\nfoo=1")[-1] == "f:2: error: foo: no such setting"


def test_findings_do_not_contain_values_from_a_provider():
    lines = findings("config.providers=env\nnum.partitions=${env:SECRET}\nbroker.rack=${env:NO}")
    assert lines == ["f:3: error: broker.rack: ${env:NO}: no value was found"]

    lines = findings("config.providers=env\nnum.partitions=${env:SECRET}")
    assert lines == ["f:2: error: num.partitions: the value of ${env:SECRET} is not valid"]


def test_a_provider_variable_is_checked_by_its_value():
    assert findings("config.providers=env\nbroker.rack=${env:SECRET}") == []
    assert findings("config.providers=env\nbroker.id=5\nnode.id=6\nbroker.rack=${env:SECRET}")[
        -1
    ] == ("f:2: error: broker.id: 5 is not node.id, which is 6: leave it out")


def test_a_setting_repeated_in_a_file_is_a_warning():
    pairs = list(iterate_properties("a=1\nb=2\na=1\na=3", "f"))

    assert [str(finding) for finding in repeated(pairs)] == [
        "f:1: warning: a is given again at f:4",
        "f:3: warning: a is given again at f:4",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "num.partitions=0",
        "listeners=A://:1",
        "listeners=PLAINTEXT://0.0.0.0:1",
        "process.roles=broker",
        "node.id=5\nbroker.id=6",
        "authorizer.class.name=A",
        "config.providers=vault",
        "config.providers=env\nbroker.rack=${env:SECRET}",
        "config.providers=env\nbroker.rack=${env:NONE}",
    ],
)
def test_lint_reports_an_error_exactly_when_loading_is_refused(text):
    layer = parse_properties(text, "f")
    try:
        load(layer, outside=Machine())
    except ConfigError:
        refused = True
    else:
        refused = False

    assert any(finding.level is Level.ERROR for finding in lint([layer], Machine())) == refused


def test_a_setting_of_a_listener_that_does_not_exist_is_a_warning_with_its_line():
    name = "listener.name.other.ssl.keystore.location"

    assert findings(f"num.partitions=5\n{name}=/a") == [
        f"f:2: warning: {name} has no effect: there is no listener OTHER: want one of PLAINTEXT"
    ]
