"""Files of a log: operations on them, their names, open files, checkpoints and small files."""

__all__ = [
    "checkpoints",
    "descriptor_retry",
    "names",
    "open_files",
    "operations",
    "partition_metadata",
]
