"""Index files of a segment: offsets, times, aborted transactions."""
