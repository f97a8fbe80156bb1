"""Spark's commands, run in this process."""

from trio_kafka.cli import main


def run(name: str, *arguments: object) -> int:
    """Run a command in this process and return its exit status."""
    return main(["spark", name, *map(str, arguments)])
