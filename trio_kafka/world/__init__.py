"""World: the only access to sockets, files, threads, processes, wall time and randomness."""

__all__ = [
    "blocking_file",
    "clock",
    "descriptors",
    "in_memory",
    "machine_time",
    "operator_files",
    "protocols",
    "real",
    "scheduling",
    "simulated",
    "world",
]
