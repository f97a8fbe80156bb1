"""Errors of the start, with advice for the operator."""

from trio_kafka.errors import LogDirError, advice


class StartError(Exception):
    """Broker that cannot start as configured; the message names the cause."""


def storage_error(error: LogDirError) -> StartError:
    """Make the error of a directory that cannot be used."""
    return StartError(f"{error}{advice(error.__cause__)}")


def listen_error(error: OSError) -> StartError:
    """Make the error of an address that cannot be bound; `filename` names listener and address."""
    return StartError(f"listener {error.filename}: {error.strerror}{advice(error)}")
