"""A request takes few steps: calls, files and changes of file on its way through the broker."""

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from trio.testing import MockClock

from tests.project.journeys import (
    Journey,
    join,
    joined_before,
    journey_of_a_join,
    journey_of_a_produce,
    journey_of_a_setting,
)
from trio_kafka.coordinators.groups.classic import joining

MOST_FRAMES = 6


@pytest.mark.parametrize(
    ("travel", "calls", "files", "entries"),
    [
        pytest.param(journey_of_a_produce, 34, 19, 23, id="produce"),
        pytest.param(journey_of_a_join, 133, 35, 92, id="join"),  # some more after other tests
        pytest.param(journey_of_a_setting, 360, 66, 237, id="changed setting"),
    ],
)
async def test_a_request_takes_at_most_so_many_calls_files_and_entries(
    autojump_clock: MockClock,
    travel: Callable[[], Awaitable[Journey]],
    calls: int,
    files: int,
    entries: int,
) -> None:
    journey = await travel()

    assert len(journey.calls) <= calls
    assert len(journey.files) <= files
    assert journey.entries <= entries


async def test_few_frames_lie_between_the_handler_and_the_member_that_is_added(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames: list[str] = []
    add = joining._add

    def recorded(*arguments: Any) -> None:
        frame = sys._getframe().f_back
        while frame is not None and frame.f_code.co_name != "join_group":
            frames.append(frame.f_code.co_qualname)
            frame = frame.f_back
        add(*arguments)

    async with joined_before("g") as (_, client):
        monkeypatch.setattr(joining, "_add", recorded)
        await join(client, "g")

    # The frame of `_add` itself comes on top.
    assert len(frames) + 1 <= MOST_FRAMES, frames
