"""The plugin beside other plugins, each in a process of its own, and what loading it costs."""

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

pytest_plugins = ["pytester"]

NO_TRIO = "*kafka_in_loop lives in the loop of a Trio test, and this is none*"
COMMON = ["-p", "no:randomly", "-p", "no:cacheprovider", "-W", "error", "-q"]
LIGHT = {"trio_kafka", "trio_kafka.testing", "trio_kafka.testing.pytest_plugin"}
LOADED = """
import sys, pytest
before = set(sys.modules)
import trio_kafka.testing.pytest_plugin
print(*sorted(set(sys.modules) - before))
"""


def run(pytester: pytest.Pytester, text: str, *options: str, ini: str = "") -> pytest.RunResult:
    pytester.makepyfile(test_it=text)
    pytester.makeini("[pytest]\n" + ini)
    return pytester.runpytest_subprocess(*COMMON, *options)


def test_plugin_is_an_entry_point_of_pytest():
    (result,) = [point for point in entry_points(group="pytest11") if point.name == "trio-kafka"]
    assert result.value == "trio_kafka.testing.pytest_plugin"


def test_loading_the_plugin_imports_only_light_modules():
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == LIGHT


@pytest.mark.slow
def test_run_without_fixtures_of_the_plugin_imports_no_other_module(pytester):
    done = run(
        pytester,
        """
        import sys

        def test_nothing():
            found = [name for name in sys.modules if name.startswith("trio_kafka.")]
            assert found == ["trio_kafka.testing", "trio_kafka.testing.pytest_plugin"]
        """,
        "-p",
        "no:asyncio",
    )
    done.assert_outcomes(passed=1)


ASYNCIO = """
    import asyncio
    import pytest
    {imports}

    {mark_fixture}
    async def client(kafka):
        from aiokafka import AIOKafkaProducer
        async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
            yield producer

    {mark}
    @pytest.mark.kafka(topics=["orders"])
    async def test_async(kafka, client):
        await client.send_and_wait("orders", b"a")
        assert [one.text for one in await kafka.aio.records("orders")] == ["a"]
        both = await asyncio.gather(kafka.aio.topics(), kafka.aio.topics())
        assert both == [["orders"]] * 2

    def test_sync(kafka):
        assert kafka.topics() == []

    {mark}
    async def test_in_loop(kafka_in_loop):
        pass
"""


@pytest.mark.slow
def test_plugin_works_with_pytest_asyncio_in_strict_mode(pytester):
    text = ASYNCIO.format(
        imports="import pytest_asyncio",
        mark_fixture="@pytest_asyncio.fixture",
        mark="@pytest.mark.asyncio",
    )
    done = run(pytester, text, ini="asyncio_default_fixture_loop_scope = function")
    done.assert_outcomes(passed=2, errors=1)
    done.stdout.fnmatch_lines([NO_TRIO])


@pytest.mark.slow
def test_plugin_works_with_pytest_asyncio_in_auto_mode(pytester):
    text = ASYNCIO.format(imports="", mark_fixture="@pytest.fixture", mark="")
    ini = "asyncio_default_fixture_loop_scope = function\nasyncio_mode = auto"
    done = run(pytester, text, "-p", "no:trio", ini=ini)
    done.assert_outcomes(passed=2, errors=1)
    done.stdout.fnmatch_lines([NO_TRIO])


@pytest.mark.slow
def test_plugin_works_with_anyio_on_asyncio_and_trio(pytester):
    done = run(
        pytester,
        """
        import pytest
        pytestmark = pytest.mark.anyio

        @pytest.fixture(params=["asyncio", "trio"])
        def anyio_backend(request):
            return request.param

        @pytest.fixture
        async def produced(kafka):
            return await kafka.aio.produce("orders", "a")

        async def test_aio(kafka, produced):
            assert await kafka.aio.records("orders") == produced

        async def test_in_loop(kafka_in_loop):
            await kafka_in_loop.produce("orders", "a")
            assert len(await kafka_in_loop.records("orders")) == 1
        """,
        "-p",
        "no:asyncio",
        "-p",
        "no:trio",
    )
    done.assert_outcomes(passed=3, errors=1)
    done.stdout.fnmatch_lines(["*lives in a Trio loop, and this test runs in asyncio*"])


@pytest.mark.slow
def test_plugin_works_in_trio_tests_with_and_without_an_autojump_clock(pytester):
    done = run(
        pytester,
        """
        import pytest
        import trio
        from trio.testing import MockClock

        @pytest.mark.trio
        async def test_aio(kafka):
            await kafka.aio.produce("orders", "a")
            assert await kafka.aio.topics() == ["orders"]

        @pytest.mark.trio
        @pytest.mark.kafka(topics=["t"], settings={"log.retention.ms": "3600000"})
        async def test_in_loop(kafka_in_loop, autojump_clock):
            await kafka_in_loop.produce("t", "a")
            await trio.sleep(7200)
            assert await kafka_in_loop.records("t") == []

        @pytest.mark.trio
        async def test_the_systems_clock(kafka_in_loop):
            assert await kafka_in_loop.topics() == []

        @pytest.mark.trio
        async def test_refused(kafka, autojump_clock):
            pass

        def test_refused_without_the_fixture(kafka):
            async def main():
                await kafka.aio.topics()
            with pytest.raises(RuntimeError, match="this loop's clock jumps ahead"):
                trio.run(main, clock=MockClock(autojump_threshold=0))

        def test_sync(kafka_in_loop):
            pass

        def test_the_mode_of_pytest_trio_is_untouched(pytestconfig):
            assert pytestconfig.getini("trio_mode") is False
        """,
        "-p",
        "no:asyncio",
    )
    done.assert_outcomes(passed=5, errors=2)
    done.stdout.fnmatch_lines_random(
        [
            "*autojump_clock skips waits as soon as this test's loop is idle*",
            NO_TRIO,
        ]
    )


@pytest.mark.slow
def test_each_worker_of_xdist_has_its_own_broker(pytester):
    done = run(
        pytester,
        """
        import pytest

        @pytest.mark.parametrize("number", range(4))
        def test_it(kafka, number, worker_id):
            kafka.produce("orders", str(number))
            assert [one.text for one in kafka.records("orders")] == [str(number)]
            print("broker", worker_id, kafka.bootstrap)
        """,
        "-p",
        "no:asyncio",
        "-n2",
        "--kafka-scope=session",
        "-rP",
    )
    done.assert_outcomes(passed=4)
    result = {tuple(line.split()[1:]) for line in done.outlines if line.startswith("broker ")}
    workers, addresses = ({row[at] for row in result} for at in (0, 1))
    assert len(result) == len(workers) == len(addresses)


@pytest.mark.slow
def test_plugin_works_in_a_test_case_of_unittest(pytester):
    done = run(
        pytester,
        """
        import unittest
        import pytest

        @pytest.mark.kafka(topics=["orders"])
        class TestOrders(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def _broker(self, kafka):
                self.kafka = kafka

            def test_one(self):
                self.kafka.produce("orders", "a")
                self.assertEqual(len(self.kafka.records("orders")), 1)

            def test_two(self):
                self.assertEqual(self.kafka.records("orders"), [])

            def test_three(self):
                self.fail("for the report")
        """,
        "-p",
        "no:asyncio",
    )
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(["*kafka of test_it.py::TestOrders::test_three: topics*"])
