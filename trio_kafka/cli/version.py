"""`trio-kafka version`: which release this is, and whose protocol and files it has."""

from importlib import metadata


def version() -> None:
    """Print the version of trio-kafka and of the Kafka that it is like."""
    print(text())


def text() -> str:
    """One line."""
    return f"trio-kafka {metadata.version('trio-kafka')} (Kafka 4.4)"
