import trio
import trio.testing

from trio_kafka.log.cleaner.alarm import Alarm


async def test_wait_does_not_end_while_no_log_changes(autojump_clock):
    alarm = Alarm()

    with trio.move_on_after(30 * 86_400) as scope:
        await alarm.wait(alarm.next_change(), earliest=0.0, in_s=None)

    assert scope.cancelled_caught
    assert alarm.sleepers == 0


async def test_a_change_ends_the_wait_but_not_before_the_earliest_time(autojump_clock):
    alarm, began = Alarm(), trio.current_time()

    async with trio.open_nursery() as nursery:
        change = alarm.next_change()
        nursery.start_soon(lambda: alarm.wait(change, earliest=began + 15, in_s=None))
        await trio.sleep(10)
        assert alarm.sleepers == 1
        alarm.ring()
        await trio.testing.wait_all_tasks_blocked()
        assert alarm.sleepers == 0

    assert trio.current_time() - began == 15


async def test_change_before_the_wait_begins_ends_the_wait_at_once(autojump_clock):
    alarm, began = Alarm(), trio.current_time()
    change = alarm.next_change()
    alarm.ring()

    await alarm.wait(change, earliest=began, in_s=None)

    assert trio.current_time() == began


async def test_one_change_wakes_every_cleaner_once(autojump_clock):
    alarm = Alarm()
    first, second = alarm.next_change(), alarm.next_change()
    alarm.ring()

    assert first.is_set()
    assert second.is_set()
    assert not alarm.next_change().is_set()


async def test_wait_without_a_change_ends_after_its_time(autojump_clock):
    alarm, began = Alarm(), trio.current_time()

    await alarm.wait(alarm.next_change(), earliest=began, in_s=100.0)

    assert 100 < trio.current_time() - began < 100.01
