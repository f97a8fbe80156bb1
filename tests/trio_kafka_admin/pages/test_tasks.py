"""Tasks, as a page."""

from urllib.parse import quote

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.trio_kafka_admin.kit import admin_ui
from trio_kafka.introspect.tasks import walk_tasks


async def waiting() -> None:
    with trio.CancelScope(deadline=trio.current_time() + 1000):
        await trio.sleep_forever()


async def test_page_lists_every_task_with_the_place_where_it_waits(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        twin, page = await ui.json("/admin/api/tasks"), await ui.page("/admin/tasks")
        paths = {path for path, _, _ in walk_tasks()}

        assert {row["path"] for row in twin["rows"]} == paths
        [raft] = [row for row in twin["rows"] if row["name"] == "raft"]
        assert next(iter(raft["figures"])).startswith("trio_kafka.raft.driver:")
        assert raft["wait"]["words"] == "a record to write to the metadata log"
        names = {row["name"]: row for row in twin["rows"]}
        assert names["scheduler"]["wait"]["cause"] == "time"
        assert "waits for the next periodic job" in page.find("div", id="tasks").text
        folds = [entry.text for entry in page.find("div", id="tasks").all("summary")]
        assert any("kafka" in words and "tasks" in words for words in folds)
        assert [entry for entry in page.all("summary") if entry.all("a")] == []


async def test_opened_task_shows_stack_scope_and_deadline(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui, trio.open_nursery() as nursery:
        await ui.ask("/admin/tasks?of=raft")  # imports the library, in a thread
        nursery.start_soon(waiting, name="a <task>")
        await wait_all_tasks_blocked()
        [path] = [path for path, _, task in walk_tasks() if task.name == "a <task>"]
        page = await ui.page(f"/admin/tasks?path={quote(path)}")
        by_name = await ui.json(f"/admin/api/tasks?of={quote('a <task>')}")

        stack = page.find("ol", id="stack").text
        assert "await trio.sleep_forever()" in stack
        assert "cancel scope of line" in stack
        assert "deadline in" in page.find("div", id="live").all("p")[0].text
        assert page.find("h2").text == "a <task>"
        assert by_name["path"] == path
        assert by_name["stack"]["frames"][0]["function"] == "waiting"
        nursery.cancel_scope.cancel()


async def test_several_tasks_of_a_name_are_listed_and_none_is_said(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        several = await ui.json("/admin/api/tasks?of=plugin")
        page = await ui.page("/admin/tasks?of=no%20such")

        assert len(several["rows"]) > 1
        assert {row["depth"] for row in several["rows"]} == {0}
        assert all("plugin" in row["name"] for row in several["rows"])
        assert page.find("div", id="live").text == "No task has such a name."


async def test_ended_task_is_not_found(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        answer = await ui.json("/admin/api/tasks?path=gone", status=404)

        assert "it has ended" in answer["message"]
