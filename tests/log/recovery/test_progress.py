import logging

import trio

from trio_kafka.introspect.tree import Node
from trio_kafka.log.recovery.progress import DirectoryProgress


async def test_long_load_logs_its_progress(autojump_clock, caplog):
    caplog.set_level(logging.INFO)
    progress = DirectoryProgress("/data", 3)
    first, second = progress.begin("t-0"), progress.begin("t-1")
    first.bytes_checked = 5 << 20
    progress.end(first)
    second.segments, second.checked, second.bytes_checked = 9, 4, 3 << 20

    with trio.move_on_after(11):
        await progress.report()

    assert [record.msg for record in caplog.records] == ["logs loaded so far"] * 2
    assert caplog.records[0].fields == {
        "path": "/data",
        "loaded": 1,
        "logs": 3,
        "recovered": 1,
        "checked_mib": 8,
        "now": "t-1(4/9)",
    }


async def test_end_of_a_load_is_logged_with_its_duration(caplog):
    caplog.set_level(logging.INFO)
    progress = DirectoryProgress("/data", 1)
    progress.end(progress.begin("t-0"))

    progress.log_end(lambda: 12.5, 10.0)

    assert caplog.records[0].fields["ms"] == 2500
    assert caplog.records[0].fields["recovered"] == 0


def test_progress_node_shows_the_logs_being_loaded():
    progress = DirectoryProgress("/data", 2)
    log = progress.begin("t-0")
    log.segments, log.worker = 4, True
    node = Node("loading /data", "part", progress.figures, transient=progress.nodes)

    assert node.figures() == {"logs": 2, "loaded": 0, "recovered": 0, "bytes_checked": 0}
    (child,) = node.children
    assert (child.name, child.figures()["worker"], child.figures()["segments"]) == ("t-0", True, 4)
    progress.end(log)
    assert not node.children
