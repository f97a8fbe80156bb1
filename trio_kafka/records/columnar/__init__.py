"""Record batches as Arrow columns: decode, scan and encode without a Python loop per record.

Needs numpy and pyarrow, which the extra `columnar` installs. Nothing else in `trio_kafka` imports
this package at module level, so the broker starts without them. The row codec
(`trio_kafka.records.batch`) is the reference: tests hold both equal.
"""

from trio_kafka.install_hint import install_command

try:
    from trio_kafka.records.columnar.decode import decode
    from trio_kafka.records.columnar.encode import EncodedBatch, encode
    from trio_kafka.records.columnar.errors import CorruptBatchError
    from trio_kafka.records.columnar.scan import scan
    from trio_kafka.records.columnar.schema import COLUMNS, arrow_schema
    from trio_kafka.records.columnar.walk import next_offset
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] not in ("numpy", "pyarrow"):
        raise
    raise ModuleNotFoundError(
        f"columnar records need {error.name}, which is not installed:"
        f" {install_command('trio-kafka[columnar]')}",
        name=error.name,
    ) from error

__all__ = [
    "COLUMNS",
    "CorruptBatchError",
    "EncodedBatch",
    "arrow_schema",
    "decode",
    "encode",
    "next_offset",
    "scan",
]
