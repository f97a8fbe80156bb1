"""Syncs under way of a directory."""

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.introspect.facts.storage import SyncFacts
from trio_kafka.log.sync_ledger import MOST_FILES, SyncLedger


async def test_syncs_under_way_are_listed_with_their_age_until_they_end(
    autojump_clock: MockClock,
) -> None:
    ledger = SyncLedger("/data")
    with ledger.noting("t-0"):
        await trio.sleep(2)
        with ledger.noting(*range(20)):
            await trio.sleep(1)
            both = ledger.facts(trio.current_time())

    files = tuple(map(str, range(MOST_FILES)))
    assert both == (
        SyncFacts(directory="/data", files=("t-0",), age_s=pytest.approx(3)),
        SyncFacts(directory="/data", files=files, age_s=pytest.approx(1)),
    )
    assert ledger.facts(trio.current_time()) == ()


async def test_failed_sync_is_no_longer_under_way(autojump_clock: MockClock) -> None:
    ledger = SyncLedger("/data")
    with pytest.raises(OSError, match="gone"), ledger.noting("t-0"):
        raise OSError("gone")

    assert ledger.facts(0.0) == ()


async def test_wait_for_a_directory_names_its_own_sync_or_the_oldest(
    autojump_clock: MockClock,
) -> None:
    ledger = SyncLedger("/data")
    (idle,) = ledger.waits(trio.current_time(), "/other", "t-1")
    with ledger.noting("t-0"):
        await trio.sleep(2)
        with ledger.noting("t-1"):
            await trio.sleep(1)
            now = trio.current_time()
            (own,) = ledger.waits(now, "", "t-1")
            (oldest,) = ledger.waits(now, "", "t-2")

    assert (idle.words, idle.age_s) == ("/data has not begun this sync yet", None)
    assert own.age_s == pytest.approx(1)
    assert own.words == "a sync of /data has been under way for 1.0 s, beside 1 more"
    assert oldest.age_s == pytest.approx(3)
    assert oldest.on.name == "/data"


def test_directory_is_named_for_a_ledger_without_a_path() -> None:
    (wait,) = SyncLedger().waits(0.0, "/metadata")

    assert wait.on.name == "/metadata"


async def test_followers_get_each_sync_that_ends_with_its_time(autojump_clock: MockClock) -> None:
    ledger, ended = SyncLedger("/data"), list[SyncFacts]()
    with ledger.followed(ended.append):
        with ledger.noting("t-1"):
            await trio.sleep(3)
        with pytest.raises(OSError), ledger.noting("t-2"):
            raise OSError
    with ledger.noting("t-3"):
        await trio.sleep(1)

    assert [(sync.files, sync.age_s) for sync in ended] == [
        (("t-1",), pytest.approx(3)),
        (("t-2",), 0.0),
    ]
    assert {sync.directory for sync in ended} == {"/data"}
