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
    return [str(one) for one in lint([parse_properties(text, "f"), options(arguments)], Machine())]


def test_what_is_right_has_no_findings():
    assert findings("num.partitions=5\nlog.dirs=/a\nplugin.a.b=c") == []


def test_every_error_is_told_with_its_place():
    assert findings("num.partitions=0\nnum.io.thread=3\nlog.cleaner.threads=x", "foo=1") == [
        "f:1: error: num.partitions: 0 is too small: want at least 1",
        "f:2: error: num.io.thread: no such setting: did you mean num.io.threads?",
        "f:3: error: log.cleaner.threads: 'x' is not a whole number",
        "-c: error: foo: no such setting",
    ]


def test_a_value_that_is_covered_is_not_looked_at():
    assert findings("num.partitions=0", "num.partitions=1") == []


def test_what_has_no_effect_and_what_is_deprecated_is_a_warning():
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
def test_a_setting_beside_another_of_the_same_meaning_is_a_warning(text, loser, winner):
    assert findings(text) == [
        f"f:1: warning: {loser} has no effect beside {winner}, which is given at f:2"
    ]


def test_two_settings_that_mean_different_things_are_none():
    assert findings("log.flush.interval.ms=5\nlog.flush.scheduler.interval.ms=5") == []


def test_a_provider_that_is_not_named_is_a_warning():
    assert findings("config.providers=env\nconfig.providers.env.class=a") == [
        "f:2: error: config.providers.env.class: 'a' is not supported: want one of " + CLASSES
    ]
    assert findings("config.providers.env.class=a") == [
        "f:1: warning: config.providers.env.class has no effect: config.providers does not name env"
    ]


def test_contradictions_are_looked_for_where_each_value_is_right():
    contradiction = "replica.lag.time.max.ms=5"

    assert findings(contradiction)[-1] == (
        "error: replica.fetch.wait.max.ms: 500 is above replica.lag.time.max.ms,"
        " so waiting would count as lag: lower it"
    )
    assert findings(f"{contradiction}\nfoo=1")[-1] == "f:2: error: foo: no such setting"


def test_no_finding_tells_a_secret():
    found = findings("config.providers=env\nnum.partitions=${env:SECRET}\nbroker.rack=${env:NO}")
    assert found == ["f:3: error: broker.rack: ${env:NO}: no value was found"]

    found = findings("config.providers=env\nnum.partitions=${env:SECRET}")
    assert found == ["f:2: error: num.partitions: the value of ${env:SECRET} is not valid"]


def test_what_is_looked_up_is_right_if_its_value_is():
    assert findings("config.providers=env\nbroker.rack=${env:SECRET}") == []
    assert findings("config.providers=env\nbroker.id=5\nnode.id=6\nbroker.rack=${env:SECRET}")[
        -1
    ] == ("f:2: error: broker.id: 5 is not node.id, which is 6: leave it out")


def test_a_name_that_a_file_has_twice_is_a_warning():
    pairs = list(iterate_properties("a=1\nb=2\na=1\na=3", "f"))

    assert [str(one) for one in repeated(pairs)] == [
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
def test_there_is_an_error_where_a_start_is_refused_and_only_there(text):
    layer = parse_properties(text, "f")
    try:
        load(layer, outside=Machine())
    except ConfigError:
        refused = True
    else:
        refused = False

    assert any(one.level is Level.ERROR for one in lint([layer], Machine())) == refused
