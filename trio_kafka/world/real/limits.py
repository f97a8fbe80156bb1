"""What the system allows a process; asked for once, at start."""

import resource


def raise_descriptor_limit() -> int:
    """Let this process open as many files and sockets as its hard limit allows; that number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
