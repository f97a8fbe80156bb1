"""Recorded requests of a running broker: to assert on, to save as frames, and to replay."""

from trio_kafka.controls.recorder.recorded import RecordedRequest
from trio_kafka.controls.recorder.recorder import CONDITIONS, Recorder

__all__ = ["CONDITIONS", "RecordedRequest", "Recorder", "frames"]
