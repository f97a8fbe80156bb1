"""Effects wait in the queue until their records, and all before them, are committed."""

import pytest

from tests.coordinators.kit import KeptLog
from trio_kafka.coordinators.commit_queue import CommitQueue
from trio_kafka.coordinators.effects import Effects
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
        return [one.answers[0][0] for one in self.queue.take_committed()]


def test_what_is_committed_need_not_wait() -> None:
    scene = Scene()
    scene.log.end = 3

    assert not scene.hold(None, "read")
    assert not scene.hold(3, "write")
    assert len(scene.queue) == 0
    assert scene.log.changed is None


def test_the_log_is_watched_for_the_first_of_the_queue() -> None:
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


def test_what_wrote_nothing_waits_for_the_last_records_before_it() -> None:
    scene = Scene()
    scene.hold(1, "a")
    scene.hold(2, "b")

    assert scene.hold(None, "read")
    scene.log.end = 1
    assert scene.taken() == ["a"]
    scene.log.end = 2
    assert scene.taken() == ["b", "read"]


def test_what_comes_later_stays_behind_even_if_it_is_committed() -> None:
    scene = Scene()
    scene.hold(1, "a")
    scene.log.end = 2

    assert scene.hold(2, "b")
    assert scene.taken() == ["a", "b"]


def test_a_loss_is_raised_where_it_is_found() -> None:
    scene = Scene()
    scene.hold(1, "a")
    scene.log.lost = LOST

    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        scene.taken()
    scene.queue.close()
    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        scene.hold(2, "b")


def test_closed_it_forgets_all_and_hears_nothing() -> None:
    scene = Scene()
    scene.hold(1, "a")
    told = scene.log.changed
    assert told is not None

    scene.queue.close()

    assert len(scene.queue) == 0
    assert scene.log.changed is None
    assert scene.queue._changed is not told
