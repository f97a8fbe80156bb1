"""Answers kept as bytes, by what was asked, as long as the metadata are the same.

By registry: of a broker that is gone nothing stays, and two in one process do not meet. Bounded,
because a client can ask for anything.
"""

from collections.abc import Hashable
from typing import Final
from weakref import WeakKeyDictionary

from attrs import Factory

from trio_kafka.attributes import define
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.requests.registry import Registry
from trio_kafka.requests.replies import Encoded

MOST: Final = 1000
MOST_BYTES: Final = 4 << 20


@define
class _Answers:
    image: MetadataImage
    by_question: dict[Hashable, Encoded] = Factory(dict)
    size: int = 0


class Kept:
    """For one API."""

    def __init__(self) -> None:
        self._answers: WeakKeyDictionary[Registry, _Answers] = WeakKeyDictionary()

    def get(self, registry: Registry, image: MetadataImage, asked: Hashable) -> Encoded | None:
        """The answer given to the same question with the same metadata."""
        answers = self._answers.get(registry)
        if answers is None or answers.image is not image:
            return None
        return answers.by_question.get(asked)

    def put(
        self, registry: Registry, image: MetadataImage, asked: Hashable, answer: Encoded
    ) -> None:
        """Keep an answer. What was kept for other metadata, or is too much, goes."""
        answers = self._answers.get(registry)
        size = len(answer.body)
        if size > MOST_BYTES:
            return
        if (
            answers is None
            or answers.image is not image
            or len(answers.by_question) >= MOST
            or answers.size + size > MOST_BYTES
        ):
            answers = self._answers[registry] = _Answers(image)
        answers.by_question[asked] = answer
        answers.size += size
