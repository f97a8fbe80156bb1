"""Limits of the process."""

import resource


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
