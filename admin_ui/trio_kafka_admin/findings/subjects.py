"""Subjects that several rules name, so that what comes of one is folded below it."""

from collections.abc import Sequence
from typing import Final

from trio_kafka.introspect.waits import Subject

HANDLERS: Final = "num.io.threads"  # limiter of the request handlers of a plane
CHANNEL: Final = "request-channel"


def handlers_of(plane: str) -> Subject:
    """Return the handlers of a plane, as waits name them."""
    return Subject("limiter", f"{HANDLERS} of plane {plane}")


def channel_of(plane: str) -> Subject:
    """Return the request channel of a plane, as waits name it."""
    return Subject("channel", f"{CHANNEL} of plane {plane}")


def plane_of(path: Sequence[str]) -> str:
    """Return the name of the plane that a node of the tree is below of; empty: of none."""
    names = (name.removeprefix("plane ") for name in path[1:2] if name.startswith("plane "))
    return next(names, "")
