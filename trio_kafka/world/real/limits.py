"""What the system allows a process; asked for once, at start."""

import resource


def raise_descriptor_limit() -> int:
    """Let this process open as many files and sockets as its hard limit allows; what it may now.

    Where the kernel has a lower limit of its own, which the hard limit does not tell (macOS), all
    stays as it is.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        return soft
    return hard
