"""A request and the one answer it gets."""

from typing import Any, Self

from trio_kafka.model import code_of
from trio_kafka.testing.planes import bare_request


class Post:
    """Where answers go, as far as a request is concerned."""

    def __init__(self) -> None:
        self.request: object = None
        self.said: list[Any] = []

    @property
    def owner(self) -> Self:
        return self

    def answer(self, connection: object, request: object, segments: object) -> None:
        self.said.append(("answer", segments))

    def refuse(self, connection: object, request: object, reason: str, detail: str) -> None:
        self.said.append(("refuse", reason, detail))

    @property
    def framer(self) -> Self:
        return self

    def done(self) -> None:
        self.said.append("done")


def test_the_key_and_version_of_a_request_follow_from_its_code() -> None:
    request = bare_request()
    request.code = code_of(3, 12)

    assert (request.key, request.version) == (3, 12)


def test_a_request_gives_its_frame_back_once_and_can_still_be_answered() -> None:
    post = Post()
    request = bare_request(7, post)
    request.give_back()
    request.give_back()
    request.respond([b"x"])

    assert request.frame is None
    assert post.said == ["done", ("answer", [b"x"])]


def test_a_refused_request_releases_its_frame() -> None:
    post = Post()
    request = bare_request(7, post)
    request.refuse("undecodable", "why")

    assert request.frame is None
    assert post.said == [("refuse", "undecodable", "why")]
