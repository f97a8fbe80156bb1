"""The page `pipelines` of the admin UI."""

import trio
from trio.testing import MockClock

from tests.trio_kafka_admin.kit import Element, Ui, table_of
from tests.trio_kafka_builtin.pipelines.kit import Pipelines, progress, running_pipelines
from trio_kafka.world.simulated.child import SimulatedProcess

FILES = {
    "good.toml": 'command = ["run", "--x", "<b>"]',
    "fails.toml": 'command = ["fail"]',
    "wrong.toml": "comand = 1",
}


async def fail(process: SimulatedProcess) -> int:
    await process.write(b"Traceback <script>\n\tat line\x1b[31m\n")
    return 1


async def shown(pipelines: Pipelines, query: str = "") -> Element:
    return await Ui(pipelines.served).page(f"/admin/pipelines{query}")


async def test_the_page_shows_pipelines_queries_errors_and_output_lines(
    autojump_clock: MockClock,
) -> None:
    running = list[SimulatedProcess]()

    async def run(process: SimulatedProcess) -> int:
        running.append(process)
        await process.write(b"hello\n")
        await trio.sleep_forever()
        return 0

    async with running_pipelines({"run": run, "fail": fail}, FILES) as pipelines:
        await pipelines.until("good", "running")
        await pipelines.until("fails", "paused")
        await pipelines.post(running[0], progress(name="<i>counts"))
        await trio.sleep(2)
        page = await shown(pipelines)
        rows = {row["pipeline"]: row for row in table_of(page, "pipelines")}
        assert set(rows) == {"good", "fails"}
        assert rows["good"]["state"] == "running"
        assert rows["good"]["command"] == "run --x <b>"
        assert rows["fails"]["state"] == "paused: ended with status 1"
        [query] = table_of(page, "queries")
        assert (query["pipeline"], query["query"], query["rows"]) == ("good", "<i>counts", "50")
        assert (query["lag"], query["offsets"]) == ("101", "orders-0: 40orders-1: 25")
        assert (query["in rows/s"], query["posted s ago"]) == ("10.5", "2.0")
        assert "addBatch 80" in query["phases, ms"]
        wrong = page.find("ul", class_="bad").text
        assert "wrong.toml: unknown key 'comand': did you mean command?" in wrong
        lines = page.find("details", id="lines-fails")
        assert "open" in lines.attributes
        assert "Traceback <script> at line\\x1b[31m" in lines.find("pre").text
        assert "open" not in page.find("details", id="lines-good").attributes
        assert "hello" in page.find("details", id="lines-good").find("pre").text
        assert "Pipelines" in [a.text for a in page.find("nav").all("a")]


async def test_the_api_filters_by_pipeline_name_and_number_of_lines(
    autojump_clock: MockClock,
) -> None:
    async with running_pipelines({"fail": fail}, FILES) as pipelines:
        await pipelines.until("fails", "paused")
        result = await pipelines.page("?name=fails&lines=1")
        [row] = result["pipelines"]
        assert row["lines"] == ["[trio-kafka] ended with status 1"]
        assert (await pipelines.ask("GET", "/admin/api/pipelines?lines=0")).status == 400


async def test_the_page_without_pipelines_says_how_to_add_a_pipeline(
    autojump_clock: MockClock,
) -> None:
    async with running_pipelines({}, {}) as pipelines:
        assert "put a TOML file into" in (await shown(pipelines)).find("main").text
