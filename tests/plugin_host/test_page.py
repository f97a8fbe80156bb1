from tests.plugin_host.page import PAGE, built_in, page
from trio_kafka.plugin_host.settings import settings_of_plugin


def test_the_page_is_what_the_plugins_declare() -> None:
    assert PAGE.read_text() == page(), "run: .venv/bin/python -m tests.plugin_host.page"


def test_every_setting_of_every_plugin_has_words() -> None:
    settings = [one for plugin in built_in() for one in settings_of_plugin(plugin).values()]

    assert [one.name for one in settings if not one.doc.endswith(".")] == []
