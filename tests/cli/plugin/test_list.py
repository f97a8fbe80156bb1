"""How plugins are shown; test_new.py asks a broker."""

from trio_kafka.cli.plugin.list import as_data, as_text
from trio_kafka.protocol.messages.k10002_list_plugins import ListedPlugin, PluginSetting

READY = ListedPlugin(
    name="good",
    doc="Does good.\nAnd more.",
    state="ready",
    since_ms=0,
    enabled=True,
    policy="isolate",
    generation=2,
    past=1,
    contributions=["api:A(1)"],
    settings=[PluginSetting("word", "hi")],
)
FAILED = ListedPlugin(
    name="bad\n", state="failed", enabled=True, policy="fatal", failures=1, error="no\x1b[1m"
)
OFF = ListedPlugin(name="off", state="discovered", policy="isolate")


def test_plugin_list_as_text_is_a_table_with_details_below() -> None:
    lines = list(as_text([READY, FAILED, OFF]))

    assert lines[0].split() == [
        *(
            "NAME",
            "STATE",
            "SINCE",
            "GENERATION",
            "FAILURES",
            "FAILED",
            "REQUESTS",
            "POLICY",
            "DESCRIPTION",
        )
    ]
    assert lines[1].split()[:4] == ["good", "ready", "1970-01-01", "00:00:00"]
    assert lines[1].endswith("Does good.")
    assert lines[3].split()[1] == "disabled"
    assert lines[4:] == [
        "\ngood",
        "  adds        api:A(1)",
        "  settings    word=hi",
        "  draining    1 earlier generations",
        "\nbad\\n",
        "  error       no\\x1b[1m",
    ]


def test_plugin_list_without_plugins_says_so() -> None:
    assert list(as_text([])) == ["no plugins"]


def test_plugin_list_as_data_has_every_field() -> None:
    (result,) = as_data([READY])

    assert result["settings"] == {"word": "hi"}
    assert result["contributions"] == ["api:A(1)"]
    assert result["doc"] == "Does good.\nAnd more."
