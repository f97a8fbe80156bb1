"""The design page of dynamic settings has a row for each of them, and no other row."""

import re
from collections import Counter
from pathlib import Path

import pytest

from trio_kafka.config.catalogue import every_setting
from trio_kafka.config.group import group_settings
from trio_kafka.config.setting import Update, settings_of
from trio_kafka.config.topic import TOPIC_SETTINGS
from trio_kafka.config.trio_settings import TrioSettings

PAGE = Path(__file__).parents[2] / "docs" / "design" / "dynamic-settings.md"
# Words in the name of a setting that is likely to name something outside the broker.
SUSPICIOUS = {
    "file",
    "path",
    "dir",
    "dirs",
    "directory",
    "command",
    "cmd",
    "address",
    "url",
    "class",
}
BROKER = {
    name for name, setting in every_setting().items() if setting.update is not Update.READ_ONLY
}


def rows(title: str) -> list[str]:
    """Names in the first cells of the table below a title."""
    _, _, rest = PAGE.read_text().partition(f"\n## {title}\n")
    section, _, _ = rest.partition("\n## ")
    cells = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    return [name for cell in cells for name in re.findall("`([^`]+)`", cell)]


@pytest.mark.parametrize(
    ("title", "settings"),
    [("Broker", BROKER), ("Topics", set(TOPIC_SETTINGS)), ("Groups", set(group_settings()))],
)
def test_page_has_one_row_for_each_setting_that_a_client_can_change(title, settings):
    assert Counter(rows(title)) == Counter(settings)


def test_no_dynamic_setting_names_a_file_address_or_class_outside_the_broker():
    for name, setting in settings_of(TrioSettings).items():
        if setting.names is None and SUSPICIOUS & set(name.split(".")):
            pytest.fail(f"{name}: say what it names, with `names=`")
        assert setting.names is None or setting.update is Update.READ_ONLY
