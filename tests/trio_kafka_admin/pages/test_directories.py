"""Log directories, as a page."""

from typing import Any

from trio.testing import MockClock

from tests.trio_kafka_admin.kit import DASH, Element, admin_ui, read_html, table_of
from trio_kafka_admin.page import Place
from trio_kafka_admin.pages.directories import PAGE


def directory(path: str, **figures: object) -> dict[str, Any]:
    usual = {
        "error": "",
        "free_bytes": 1 << 30,
        "total_bytes": 4 << 30,
        "used_share": 0.75,
        "logs": 3,
        "log_bytes": 1536,
        "syncs": [],
        "waiting": 0,
    }
    return {"path": path, **usual, **figures}


def shown(*directories: dict[str, Any]) -> Element:
    return read_html("".join(PAGE.show({"directories": directories}, Place("/admin"))))


def test_directory_is_shown_with_its_space_and_logs() -> None:
    page = shown(directory("/data <1>"))

    [row] = table_of(page, "directories")
    assert (row["directory"], row["used"], row["free"]) == ("/data <1>", "75 %", "1.0 GiB")
    assert (row["total"], row["logs"], row["logs use"]) == ("4.0 GiB", "3", "1.5 KiB")
    assert row["syncs"] == "none"
    assert "serves" in row["state"]
    assert page.all("p")[-1].text == "No directory writes to its disk at the moment."


def test_offline_directory_says_why_and_unknown_space_is_a_dash() -> None:
    unknown = {"used_share": None, "free_bytes": None, "total_bytes": None, "log_bytes": None}
    [row] = table_of(shown(directory("/a", error="no <space>", **unknown)), "directories")

    assert "offline: no <space>" in row["state"]
    assert (row["used"], row["free"], row["total"], row["logs use"]) == (DASH, DASH, DASH, DASH)


def test_share_of_a_nearly_full_disk_has_the_tone_of_a_warning() -> None:
    for share, tone in ((0.89, "info"), (0.9, "warn"), (0.95, "bad")):
        assert shown(directory("/a", used_share=share)).all("rect", class_=f"bar-part {tone}")


def test_syncs_under_way_are_listed_with_their_files_and_ages() -> None:
    syncs = [
        {"directory": "/a", "files": ["orders-0", "orders-1"], "age_s": 3.1},
        {"directory": "/a", "files": [], "age_s": 0.25},
    ]
    page = shown(directory("/a", syncs=syncs, waiting=2))

    [row] = table_of(page, "directories")
    assert (row["syncs"], row["waiting"]) == ("2, the oldest for 3.1 s", "2")
    assert [(sync["files"], sync["for"]) for sync in table_of(page, "syncs")] == [
        ("orders-0, orders-1", "3.1 s"),
        ("", "250 ms"),
    ]


async def test_directories_of_a_broker_are_those_of_its_log_manager(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await ui.served.create_topic("orders")
        twin, page = await ui.json("/admin/api/directories"), await ui.page("/admin/directories")

        [row] = twin["directories"]
        assert row["path"] in ui.served.broker.parts.config.log_dirs
        assert row["logs"] >= 1
        assert row["log_bytes"] is not None
        assert table_of(page, "directories")[0]["logs"] == str(row["logs"])
