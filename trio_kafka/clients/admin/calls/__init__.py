"""Parts of an admin call, and the machine that runs it. Does no I/O, and uses no clock."""

__all__ = ["call", "execution", "lookup", "operation", "results", "targets"]
