"""docs/reference/plugins.md: the plugins that come with trio-kafka, and their settings.

python -m tests.plugin_host.page            write it
"""

import tomllib
from collections.abc import Iterator
from typing import Final

from tests.project.tree import ROOT
from trio_kafka.config.plugins import HOST_SETTINGS
from trio_kafka.config.report.explain import bounds_of, default_of_kafka
from trio_kafka.config.setting import declared_settings
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.discovery import GROUP, Origin
from trio_kafka.plugin_host.settings import settings_of_plugin

PAGE: Final = ROOT / "docs" / "reference" / "plugins.md"
HEAD: Final = """\
# Built-in plugins

Look up the settings of the plugins that come with trio-kafka. Settings that
[every plugin has](configuration.md#every-plugin) are left out.

This page is generated from the plugins: run `python -m tests.plugin_host.page`.
"""
_COLUMNS: Final = ("Setting", "Type", "Default", "Bounds", "What it says")


def built_in() -> Iterator[Plugin]:
    """Those that the project's own entry points name, whatever else is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name, value in sorted(project["entry-points"].get(GROUP, {}).items()):
        module, _, attribute = value.partition(":")
        plugins, imported = Origin(
            name=name, source=value, module=module, attribute=attribute
        ).load()
        yield from plugins
        if imported is not None:
            imported.users = 1
            imported.release()


def page() -> str:
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield HEAD.rstrip()
    for plugin in built_in():
        first = next(iter(plugin.doc.splitlines()), "")
        yield f"\n## {plugin.name}\n"
        off = f" Off unless `plugin.{plugin.name}.enabled=true`."
        yield first if plugin.enabled else first + off
        own_keys = declared_settings(plugin.settings)
        keys = {f"plugin.{plugin.name}.{key}" for key in HOST_SETTINGS if key not in own_keys}
        own = [setting for name, setting in settings_of_plugin(plugin).items() if name not in keys]
        if own:
            yield ""
            yield row(_COLUMNS)
            yield row(["---"] * len(_COLUMNS))
        for setting in own:
            default = default_of_kafka(setting)
            shown = "empty" if default == '""' else default if "(" in default else f"`{default}`"
            yield row(
                [
                    f"`{setting.name}`",
                    setting.kind.name.lower(),
                    shown,
                    bounds_of(setting),
                    setting.doc,
                ]
            )


def row(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page())
