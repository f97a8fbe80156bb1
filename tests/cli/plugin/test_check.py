"""Output of `check`; test_new.py runs it."""

from tests.plugin_host.plugins import echo
from trio_kafka.cli.plugin.check import as_data, as_text
from trio_kafka.plugin_host.plugin_check import CheckedPlugin


def test_checked_plugins_are_shown_with_state_problems_and_source() -> None:
    result = [
        CheckedPlugin(name="echo", source="entry point echo", plugin=echo, problems=[]),
        CheckedPlugin(name="bad", source="entry point bad", plugin=None, problems=["one", "two"]),
        CheckedPlugin(name="off", source="entry point off", plugin=None, problems=[]),
    ]

    assert list(as_text(result)) == [
        "echo: ok (entry point echo)",
        "bad: error: one (entry point bad)",
        "bad: error: two (entry point bad)",
        "off: disabled (entry point off)",
    ]
    assert [as_data(checked_plugin) for checked_plugin in result[1:]] == [
        {
            "name": "bad",
            "state": "error",
            "source": "entry point bad",
            "problems": ["one", "two"],
        },
        {"name": "off", "state": "disabled", "source": "entry point off", "problems": []},
    ]
    assert list(as_text([])) == ["no plugins are installed"]
