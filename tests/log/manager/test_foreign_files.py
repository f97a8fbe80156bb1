import pytest

from tests.log.kit import append, batch, fill
from tests.log.managers import SMALL, T0, TOPIC_ID, format_directory, started
from trio_kafka.log.files.names import parse_directory
from trio_kafka.log.manager.foreign_files import OWN_FILES, why_foreign


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("t-0", []),
        ("t-0", ["00000000000000000007.log", "notes.txt"]),
        ("t-0", ["00000000000000000007.log.deleted"]),
        ("t-0", ["partition.metadata.tmp"]),
        ("t-0", ["leader-epoch-checkpoint"]),
        (f"t-0.{'a' * 32}-delete", ["dump.sql"]),
        (f"t-0.{'a' * 32}-stray", []),
    ],
)
def test_directory_that_may_be_a_partition_is_not_foreign(name, inside):
    assert why_foreign(name, parse_directory(name), inside) is None


@pytest.mark.parametrize(
    ("name", "inside", "reason"),
    [
        ("backup-2024", ["dump.sql"], "but dump.sql"),
        ("my backup-1", [], "not the name"),
        ("t-007", ["00000000000000000007.log"], "not the name"),
        ("t-99999999999", [], "not the name"),
        (f"t-007.{'a' * 32}-future", ["00000000000000000007.log"], "not the name"),
        (f"t-0.{'a' * 32}-future", ["dump.sql"], "but dump.sql"),
    ],
)
def test_foreign_directory_has_a_reason(name, inside, reason):
    assert reason in (why_foreign(name, parse_directory(name), inside) or "")


async def test_foreign_files_are_kept_and_logged_once(autojump_clock, world, caplog):
    root = await format_directory(world, "/data")
    manager = await started(world)
    append(manager.create(T0, TOPIC_ID, SMALL), batch())
    await manager.close()
    await fill(root, {"plain-0": b"x", "notes.txt": b"x"})
    await fill(root.directory("backup-2024", create=True), {"dump.sql": b"x"})
    root.directory("photos", create=True)
    before = set(root.names())

    again = await started(world)

    assert [log.partition for log in again.logs] == [T0]
    assert again.get(T0).end_offset == 1
    foreign = [record.fields for record in caplog.records if record.msg == "foreign file ignored"]
    assert sorted(row["path"] for row in foreign) == [
        "/data/backup-2024",
        "/data/notes.txt",
        "/data/photos",
        "/data/plain-0",
    ]
    assert before - set(root.names()) <= OWN_FILES
    assert root.directory("backup-2024").names() == ["dump.sql"]
