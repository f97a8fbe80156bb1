"""Handlers of tests that work in slices."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from trio_kafka.pending import Work


def in_slices(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Return a handler that returns Work with the steps of a generator."""

    @wraps(handler)
    def handle(message: Any, context: Any) -> Work[Any]:
        return Work(handler(message, context))

    del handle.__wrapped__  # else it looks like a generator
    return handle
