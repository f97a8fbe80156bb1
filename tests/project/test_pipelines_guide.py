"""docs/how-to/pipelines.md: its keys, defaults, settings and files are there."""

import re
import tomllib
from typing import Any

from attrs import fields_dict

from tests.project.tree import ROOT
from trio_kafka.config.setting import settings_of
from trio_kafka_builtin.pipelines.definition import KEYS, RESTARTS, Definition, read_definition
from trio_kafka_builtin.pipelines.pipeline import MOST_BYTES_PER_S
from trio_kafka_builtin.pipelines.queries import EVENTS, Queries
from trio_kafka_builtin.pipelines.settings import PipelineSettings

GUIDE = (ROOT / "docs" / "how-to" / "pipelines.md").read_text()


def test_definition_in_the_pipelines_guide_is_valid() -> None:
    [block] = re.findall(r"^```toml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)

    assert read_definition("word_count", block, "/x").environment == {"WORDS": "many"}


def test_pipelines_guide_lists_every_key_of_a_definition_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", GUIDE, re.MULTILINE))
    rows = {name: text for name, text in rows.items() if name in KEYS}

    assert tuple(rows) == KEYS
    for name, cell in rows.items():
        default: Any = fields_dict(Definition)[name].default
        if isinstance(default, bool):
            assert cell == str(default).lower()
        elif isinstance(default, float):
            assert cell == f"{default:g}"
        elif isinstance(default, str):
            assert cell == f"`{default}`"
    assert [restart for restart in RESTARTS if f"`{restart}`" not in GUIDE] == []


def test_pipelines_guide_names_the_plugin_settings_with_their_defaults() -> None:
    named = set(re.findall(r"`?plugin\.pipelines\.([a-z.]+[a-z])", GUIDE))

    assert named - {"enabled"} == set(settings_of(PipelineSettings)) - {"path"}
    defaults = settings_of(PipelineSettings)
    assert f"log.lines` ({defaults['log.lines'].default})" in GUIDE
    assert f"log.bytes` ({defaults['log.bytes'].default >> 20} MiB)" in GUIDE
    assert f"max.body.bytes` ({defaults['max.body.bytes'].default >> 10} KiB)" in GUIDE
    assert f"{MOST_BYTES_PER_S >> 20} MiB/s" in GUIDE


def test_progress_event_posted_in_the_pipelines_guide_is_accepted() -> None:
    [post] = re.findall(r"`(\{\"event\".*\})`", GUIDE)

    assert Queries().take(eval(post), 1.0) == 10
    assert [event for event in EVENTS if f"`{event}`" not in GUIDE] == []


def test_every_file_linked_from_the_pipelines_guide_exists() -> None:
    links = re.findall(r"\]\((\.\./\.\./[^)]+)\)", GUIDE)

    assert links
    assert [link for link in links if not (ROOT / "docs" / "how-to" / link).exists()] == []
    assert tomllib.loads((ROOT / "examples" / "spark" / "word_count.toml").read_text())
