import pytest
from attrs import field, frozen

from trio_kafka.config.load import load, options
from trio_kafka.config.properties import SettingText
from trio_kafka.config.setting import ConfigError
from trio_kafka.config.sources.providers import resolve

JAVA = "org.apache.kafka.common.config.provider"


@frozen
class Outside:
    """A machine that has these variables and files."""

    variables: dict = field(factory=dict)
    files: dict = field(factory=dict)

    def read(self, path):
        if path not in self.files:
            raise FileNotFoundError(2, "No such file or directory", path)
        return self.files[path]

    def is_file(self, path):
        return path in self.files

    def exists(self, path):
        return any(f"{file}/".startswith(f"{path}/") for file in self.files)


MACHINE = Outside(
    variables={"RACK": "here", "PASSWORD": "hunter22", "EMPTY": "", "REF": "${env:RACK}"},
    files={
        "/etc/keys/app.properties": "rack=there\npassword=hunter22\nempty=\n",
        "/etc/keys/rack": "b",
        "/etc/keysets/app.properties": "rack=elsewhere\n",
        "/etc/broken": "a=\\u12",
    },
)


def resolved(text, machine=MACHINE, **more_settings):
    settings = {"broker.rack": text}
    settings |= {name.replace("__", "."): value for name, value in more_settings.items()}
    return resolve({name: SettingText(value, "f") for name, value in settings.items()}, machine)


def rack(text, **more_settings):
    return resolved(text, **{"config__providers": "env,file,directory", **more_settings})[
        "broker.rack"
    ]


def refusal(text, **more_settings):
    with pytest.raises(ConfigError) as caught:
        rack(text, **more_settings)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${env:RACK}", "here"),
        ("${env::RACK}", "here"),
        ("a-${env:RACK}-${file:/etc/keys/app.properties:rack}", "a-here-there"),
        ("${file:/etc/keys/app.properties:empty}", ""),
        ("${env:EMPTY}", ""),
        ("${directory:/etc/keys:rack}", "b"),
        ("plain", "plain"),
        ("${other:RACK}", "${other:RACK}"),
        ("$RACK ${RACK}", "$RACK ${RACK}"),
        ("${env:REF}", "${env:RACK}"),
    ],
)
def test_a_variable_is_replaced_by_the_value_of_its_provider(text, value):
    setting = rack(text)

    assert setting.text == value
    assert setting.written == (text if "${env:" in text or "/etc" in text else None)


def test_providers_can_be_given_by_class_names_of_kafka():
    settings = resolved(
        "${secrets:/etc/keys/app.properties:rack} ${e:RACK} ${d:/etc/keys:rack}",
        config__providers="secrets,e,d",
        config__providers__secrets__class=f"{JAVA}.FileConfigProvider",
        config__providers__e__class=f"{JAVA}.EnvVarConfigProvider",
        config__providers__d__class=f"{JAVA}.DirectoryConfigProvider",
    )

    assert settings["broker.rack"].text == "there here b"


def test_variables_stay_as_written_without_config_providers():
    assert resolved("${env:RACK}")["broker.rack"] == SettingText("${env:RACK}", "f")
    assert resolved("${env:RACK}", machine=None)["broker.rack"].text == "${env:RACK}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${env:NONE}", "no value was found"),
        ("${env:a:RACK}", "the environment has no paths: want ${provider:key}"),
        ("${file:/etc/keys/app.properties:none}", "no value was found"),
        ("${file:/none:x}", "No such file or directory"),
        ("${file:x}", "has no path: want ${provider:path:key}"),
        ("${file:/etc/broken:a}", "/etc/broken:1: cannot be read"),
        ("${directory:/etc/keys:none}", "no value was found"),
        ("${directory:/etc:keys/rack}", "no value was found"),
        ("${directory:/etc/keys:..}", "no value was found"),
    ],
)
def test_a_failed_variable_lookup_is_refused_with_the_name_of_its_setting(text, message):
    assert refusal(text) == f"f: broker.rack: {text}: {message}"


@pytest.mark.parametrize(
    ("pattern", "allowed"),
    [("RACK", True), ("R.*", True), ("RAC", False), ("ACK", False), (".*", True)],
)
def test_only_environment_variables_that_match_the_allowlist_pattern_are_read(pattern, allowed):
    more_settings = {"config__providers__env__param__allowlist__pattern": pattern}

    if allowed:
        assert rack("${env:RACK}", **more_settings).text == "here"
    else:
        assert "no value was found" in refusal("${env:RACK}", **more_settings)


@pytest.mark.parametrize(
    ("roots", "path", "allowed"),
    [
        ("/etc/keys", "/etc/keys/app.properties", True),
        ("/etc/keysets,/etc/keys/", "/etc/keys/app.properties", True),
        ("/etc/keys", "/etc/keysets/app.properties", False),
        ("/etc/keys", "/etc/keys/../keysets/app.properties", False),
        ("/etc/keys", "/etc/keysets/../keys/app.properties", True),
        ("/etc/keys", "keys/app.properties", False),
        ("/etc/keys/app.properties", "/etc/keys/app.properties", True),
        ("/", "/etc/keys/app.properties", True),
    ],
)
def test_only_files_below_the_allowed_paths_are_read(roots, path, allowed):
    machine = Outside(files={**MACHINE.files, "keys/app.properties": "rack=x", "/x": ""})
    more_settings = {
        "config__providers": "file",
        "config__providers__file__param__allowed__paths": roots,
        "machine": machine if roots != "/" else Rooted(files=MACHINE.files),
    }
    text = f"${{file:{path}:rack}}"

    if allowed:
        assert resolved(text, **more_settings)["broker.rack"].text == "there"
    else:
        with pytest.raises(ConfigError, match=r"the path is not below allowed\.paths"):
            resolved(text, **more_settings)


class Rooted(Outside):
    def exists(self, path):
        return True


@pytest.mark.parametrize(
    ("more_settings", "message"),
    [
        (
            {"config__providers": "vault"},
            (
                "config.providers: 'vault' is not env, file or directory:"
                " set config.providers.vault.class"
            ),
        ),
        (
            {"config__providers__env__class": "com.example.Vault"},
            (
                "f: config.providers.env.class: 'com.example.Vault' is not supported: want one of"
                f" {JAVA}.EnvVarConfigProvider, {JAVA}.FileConfigProvider,"
                f" {JAVA}.DirectoryConfigProvider"
            ),
        ),
        (
            {"config__providers__env__param__allowed__paths": "/"},
            (
                "f: config.providers.env.param.allowed.paths: is not a"
                " parameter of this provider: want param.allowlist.pattern"
            ),
        ),
        (
            {"config__providers__env__param__allowlist__pattern": "("},
            (
                "f: config.providers.env.param.allowlist.pattern: is not a regular expression:"
                " missing ), unterminated subpattern at position 0"
            ),
        ),
        (
            {"config__providers__file__param__allowed__paths": "etc"},
            (
                "f: config.providers.file.param.allowed.paths: etc is not"
                " absolute: want a path that begins with /"
            ),
        ),
        (
            {"config__providers__file__param__allowed__paths": "/etc,/none"},
            "f: config.providers.file.param.allowed.paths: /none does not exist",
        ),
    ],
)
def test_a_provider_with_an_invalid_class_or_parameter_is_refused(more_settings, message):
    assert refusal("x", **more_settings) == message


def test_config_providers_are_refused_outside_of_operator_settings():
    with pytest.raises(
        ConfigError,
        match=r"config\.providers: only settings of a broker's operator can look values up",
    ):
        resolved("x", machine=None, config__providers="env")


def test_a_loaded_configuration_has_the_values_of_its_provider_variables():
    loaded = load(options(["config.providers=env", "broker.rack=${env:RACK}"]), outside=MACHINE)

    assert loaded.config.broker_rack == "here"
    assert loaded.config.texts["broker.rack"] == SettingText("here", "-c", "${env:RACK}")
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["num.partitions=${env:PASSWORD}"],
            "-c: num.partitions: the value of ${env:PASSWORD} is not valid",
        ),
        (
            ["listeners=${env:PASSWORD}"],
            "-c: listeners: the value of ${env:PASSWORD} is not valid",
        ),
        (
            ["listeners=A://:1", "listener.security.protocol.map=${env:PASSWORD}"],
            "-c: listener.security.protocol.map: the value of ${env:PASSWORD} is not valid",
        ),
        (
            ["log.cleaner.threads=${env:PASSWORD}"],
            "-c: log.cleaner.threads: the value of ${env:PASSWORD} is not valid",
        ),
    ],
)
def test_an_invalid_value_from_a_provider_is_refused_without_showing_the_value(arguments, message):
    with pytest.raises(ConfigError) as caught:
        load(options(["config.providers=env", *arguments]), outside=MACHINE)

    assert str(caught.value) == message
    assert caught.value.__cause__ is None


def test_a_refusal_of_another_setting_does_not_show_a_provider_value():
    machine = Outside(variables={"ID": "123456"})
    arguments = ["config.providers=env", "broker.id=5", "node.id=${env:ID}"]

    with pytest.raises(ConfigError) as caught:
        load(options(arguments), outside=machine)

    assert str(caught.value) == "-c: broker.id: contradicts the value of ${env:ID}"
