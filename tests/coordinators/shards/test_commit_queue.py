"""Effects wait in the queue until their records, and all before them, are committed."""

import pytest

from tests.coordinators.shards.kit import KeptLog
from trio_kafka.coordinators.shards.commit_queue import CommitQueue
from trio_kafka.coordinators.shards.effects import Effects
from trio_kafka.errors import ErrorCode, KafkaError

LOST = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)


class Scene:
    def __init__(self) -> None:
        self.log = KeptLog()
        self.log.end = 0
        self.changes = 0
        self.queue = CommitQueue(self.log, self._changed)  # type: ignore[arg-type]

    def _changed(self) -> None:
        self.changes += 1

    def hold(self, written: int | None, name: str) -> bool:
        return self.queue.hold(written, Effects(answers=[(name, name)]))

    def taken(self) -> list[object]:
        return [effects.answers[0][0] for effects in self.queue.take_committed()]


def test_committed_effects_are_not_held() -> None:
    scene = Scene()
    scene.log.end = 3

    assert not scene.hold(None, "read")
    assert not scene.hold(3, "write")
    assert len(scene.queue.waiting) == 0
    assert scene.log.changed is None


def test_log_is_watched_for_the_first_record_of_the_queue() -> None:
    scene = Scene()

    assert scene.hold(1, "a")
    assert scene.hold(2, "b")
    assert scene.log.watched == 1
    scene.log.end = 1
    assert scene.taken() == ["a"]
    assert scene.log.watched == 2
    scene.log.end = 2
    assert scene.taken() == ["b"]
    assert scene.log.changed is None


def test_effects_without_records_wait_for_the_last_earlier_records() -> None:
    scene = Scene()
    scene.hold(1, "a")
    scene.hold(2, "b")

    assert scene.hold(None, "read")
    scene.log.end = 1
    assert scene.taken() == ["a"]
    scene.log.end = 2
    assert scene.taken() == ["b", "read"]


def test_committed_effects_stay_behind_earlier_effects_in_the_queue() -> None:
    scene = Scene()
    scene.hold(1, "a")
    scene.log.end = 2

    assert scene.hold(2, "b")
    assert scene.taken() == ["a", "b"]


def test_lost_records_raise_the_error_of_the_log() -> None:
    scene = Scene()
    scene.hold(1, "a")
    scene.log.lost = LOST

    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        scene.taken()
    scene.queue.close()
    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        scene.hold(2, "b")


def test_closed_queue_drops_its_effects_and_stops_watching_the_log() -> None:
    scene = Scene()
    scene.hold(1, "a")
    watcher = scene.log.changed
    assert watcher is not None

    scene.queue.close()

    assert len(scene.queue.waiting) == 0
    assert scene.log.changed is None
    assert scene.queue._changed is not watcher
