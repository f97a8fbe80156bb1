from tests.plugin_host.page import PAGE, built_in, page
from trio_kafka.plugin_host.settings import settings_of_plugin


def test_the_plugins_page_is_up_to_date_with_the_declarations() -> None:
    assert PAGE.read_text() == page(), "run: .venv/bin/python -m tests.plugin_host.page"


def test_every_setting_of_every_built_in_plugin_has_a_description() -> None:
    settings = [setting for plugin in built_in() for setting in settings_of_plugin(plugin).values()]

    assert [setting.name for setting in settings if not setting.doc.endswith(".")] == []
