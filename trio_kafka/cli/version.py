"""`trio-kafka version`: which release this is, and whose protocol and files it has."""

from argparse import ArgumentParser
from importlib import metadata


def declare(_parser: ArgumentParser) -> None:
    """It takes no arguments."""


def version() -> int:
    """Print the version of trio-kafka and of the Kafka that it is like."""
    print(text())
    return 0


def text() -> str:
    """One line."""
    return f"trio-kafka {metadata.version('trio-kafka')} (Kafka 4.4)"
