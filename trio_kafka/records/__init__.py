"""Record batches: headers, records, codecs and checks, sans-IO."""

__all__ = [
    "batch",
    "columnar",
    "compression",
    "control",
    "file_range",
    "header",
    "leaf",
    "legacy",
    "partitioner",
    "recompress",
    "record_checks",
    "record_scan",
    "validate",
    "values",
    "varint",
    "whole_batch_search",
    "zstd_window",
]
