"""One table holds the logs and the future logs, each in exactly one directory."""

import pytest

from tests.log.manager.test_future_logs import two
from tests.log.managers import SMALL, T0, TOPIC_ID
from trio_kafka.errors import InvariantError
from trio_kafka.introspect.tree import Node
from trio_kafka.log.manager.log_table import LogTable


async def test_table_and_directories_agree_after_each_change(world, autojump_clock) -> None:
    logs = await two(world)
    here, there = logs.directories
    log = logs.create(T0, TOPIC_ID, SMALL, directory=here)
    future = logs.create_future(there, T0, TOPIC_ID, SMALL, start_offset=0)
    assert (here.logs, here.futures) == ({T0: log}, {})
    assert (there.logs, there.futures) == ({}, {T0: future})
    assert (logs.logs, logs.futures) == ((log,), (future,))
    assert [logs.figures()[kind] for kind in ("logs", "futures")] == [1, 1]

    logs.promote(T0)

    assert (here.logs, here.futures) == ({}, {})
    assert (there.logs, there.futures) == ({T0: future}, {})
    assert (logs.logs, logs.futures) == ((future,), ())
    assert [logs.figures()[kind] for kind in ("logs", "futures")] == [1, 0]
    assert logs.directory_of(T0) is there
    assert logs.directory_of(T0, is_future=True) is None


async def test_second_log_of_a_kind_or_in_one_directory_breaks_the_invariant(
    world, autojump_clock
) -> None:
    logs = await two(world)
    here, there = logs.directories
    log = logs.create(T0, TOPIC_ID, SMALL, directory=here)
    logs.create_future(there, T0, TOPIC_ID, SMALL, start_offset=0)

    for directory, is_future in ((there, False), (here, True)):
        with pytest.raises(InvariantError):
            logs._table.add(directory, log, is_future=is_future)
    logs.drop_future(T0)
    with pytest.raises(InvariantError):
        logs.create_future(here, T0, TOPIC_ID, SMALL, start_offset=0)

    assert (here.logs, here.futures, there.futures) == ({T0: log}, {}, {})


async def test_removed_log_is_gone_from_table_directory_and_tree(world, autojump_clock) -> None:
    logs = await two(world)
    here, _ = logs.directories
    log = logs.create(T0, TOPIC_ID, SMALL, directory=here)
    here.remove(T0)
    node = Node("logs", "part")
    table = LogTable(node)
    table.add(here, log)
    assert [child.name for _, child in node.walk()] == ["logs", "t-0"]

    row = table.pop(T0)

    assert row is not None
    assert (row.log, row.directory, row.is_future) == (log, here, False)
    assert table.pop(T0) is table.get(T0) is None
    assert here.logs == {}
    assert [child.name for _, child in node.walk()] == ["logs"]
    here.add(log)
