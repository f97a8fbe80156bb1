"""This process: its limit of descriptors, and an exit that no thread can delay."""

import logging
import os
import resource
import sys
from typing import NoReturn


def raise_descriptor_limit() -> int:
    """Raise the limit of open descriptors to the hard limit; return the new limit.

    It stays as it is where the kernel rejects that (macOS).
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        return soft
    return hard


def end_process(status: int) -> NoReturn:
    """Exit at once, whatever still runs, after flushing logs and streams."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
