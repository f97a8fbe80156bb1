"""The command `trio-kafka`: one file per command, imported when it runs.

Nothing is imported here but what finds the command, so that `start` pays only for what it needs.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cyclopts import App

__all__ = ["main"]

# Name, where its function is, and its line in the list of commands, which imports none of them.
# Commands of a group come under its name.
_COMMANDS: Final = (
    ("start", "trio_kafka.cli.start:start", "Run a broker until it is told to stop."),
    ("format", "trio_kafka.cli.format:format_storage", "Give data directories their identity."),
    ("tree", "trio_kafka.cli.tree:tree", "Show what runs and what waits in a broker."),
    ("top", "trio_kafka.cli.top:top", "Show what a broker does, again and again."),
    ("requests", "trio_kafka.cli.requests:requests", "Show requests in hand, latest or slowest."),
    ("config explain", "trio_kafka.cli.config.explain:explain", "Say what settings mean."),
    ("config lint", "trio_kafka.cli.config.lint:lint_files", "Say what is wrong with settings."),
    ("config diff", "trio_kafka.cli.config.diff:diff", "Say which settings differ."),
    ("plugin list", "trio_kafka.cli.plugin.list:list_plugins", "Show the plugins of a broker."),
    ("plugin new", "trio_kafka.cli.plugin.new:new", "Write a package with a plugin."),
    ("plugin check", "trio_kafka.cli.plugin.check:check", "Check what is installed."),
    ("plugin reload", "trio_kafka.cli.plugin.reload:reload", "Reload a plugin of a broker."),
    ("version", "trio_kafka.cli.version:version", "Print the version."),
)
_GROUPS: Final = {
    "config": "What settings mean, what is wrong with them, how they differ.",
    "plugin": "What plugins do in a broker, what is installed, and a new one to begin with.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command of `arguments` (the process's own, if None) and return its exit status."""
    status = _app()(
        sys.argv[1:] if arguments is None else list(arguments),
        result_action="return_int_as_exit_code_else_zero",
    )
    return int(status)


def _app() -> "App":
    from cyclopts import App  # noqa: PLC0415 - importing this package must stay cheap

    app = App(
        name="trio-kafka",
        help="A Kafka broker as one tree of structured concurrency.",
        version=_version,
        help_format="plaintext",
    )
    for name, path, line in _COMMANDS:
        group, _, command = name.rpartition(" ")
        if group and group not in app:
            app.command(App(name=group, help=_GROUPS[group], version_flags=()))
        (app[group] if group else app).command(path, name=command, help=line)
    return app


def _version() -> str:
    from trio_kafka.cli.version import text  # noqa: PLC0415 - as above

    return text()
