"""Brokers of tests: marks, scopes, what a failed test reports, what a test may not leave."""

import confluent_kafka  # noqa: F401 - see `imported`
import pytest

import trio_kafka.testing.pytest_brokers  # noqa: F401
from trio_kafka.testing.kafka.threaded import running_broker
from trio_kafka.testing.ports import unused_port

pytestmark = pytest.mark.slow
pytest_plugins = ["pytester"]

OPTIONS = [
    *("-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:timeout", "-p", "no:asyncio"),
    *("-p", "no:xdist", "-q"),
]
PRODUCER = """
    import pytest
    from confluent_kafka import Producer

    LEFT = []

    def produce(kafka, name, keep=True):
        client = {"bootstrap.servers": kafka.bootstrap, "client.id": name, "log_level": 0}
        producer = Producer(client)
        producer.produce("orders", b"a")
        assert producer.flush(10) == 0
        return producer
"""


@pytest.fixture(scope="module", autouse=True)
def imported():
    """A run in this process forgets what it imports itself: import all before."""
    with running_broker() as kafka:
        kafka.produce("orders", "a")


@pytest.fixture
def run(pytester: pytest.Pytester):
    def run(text: str, *options: str, ini: str = "") -> pytest.RunResult:
        pytester.makeini("[pytest]\n" + ini)
        pytester.makepyfile(test_it=text)
        return pytester.runpytest_inprocess(*OPTIONS, *options)

    return run


def test_marks_set_settings_and_topics_of_the_broker(run):
    done = run(
        """
        import pytest
        pytestmark = pytest.mark.kafka(settings={"num.partitions": "3", "log.retention.ms": "5"})

        @pytest.mark.kafka(topics={"orders": 2}, settings={"log.retention.ms": "7"})
        def test_it(kafka, tmp_path):
            assert kafka.topic("orders").partitions == 2
            config = kafka.broker.config
            assert (config.num_partitions, config.log_retention_ms) == (3, 7)
            assert config.message_max_bytes == 12345

        @pytest.mark.kafka(topic="orders")
        def test_unknown(kafka):
            pass

        @pytest.mark.kafka("orders")
        def test_by_position(kafka):
            pass

        @pytest.mark.kafka(settings={"num.partition": "1"})
        def test_unknown_setting(kafka):
            pass
        """,
        ini="kafka_settings =\n    message.max.bytes = 12345\n    num.partitions=9\n",
    )
    done.assert_outcomes(passed=1, errors=3)
    done.stdout.fnmatch_lines_random(
        [
            "*@pytest.mark.kafka(topic): expected settings, topics, directory, port, plugins, *",
            "*@pytest.mark.kafka('orders'): expected settings*",
            "*num.partition*",
        ]
    )


def test_factory_starts_brokers_with_their_own_settings_directory_and_port(run):
    port = unused_port()
    done = run(
        f"""
        import pytest

        def test_it(kafka_factory, tmp_path):
            one = kafka_factory(topics=["a"], port={port}, directory=str(tmp_path))
            two = kafka_factory({{"num.partitions": "3"}}, topics={{"b": 2}})
            assert one.bootstrap == "127.0.0.1:{port}"
            assert (one.topics(), two.topics()) == (["a"], ["b"])
            assert two.broker.config.num_partitions == 3
            assert list(tmp_path.iterdir())

        def test_the_port_is_taken(kafka_factory):
            kafka_factory(port={port})
            kafka_factory(port={port})
        """
    )
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*in use*"])


def test_shared_broker_ends_the_transactions_that_a_test_left_open(run):
    done = run(
        """
        from confluent_kafka import Producer

        def test_leaves_one_open(kafka):
            kafka.produce("orders", "a", transactional_id="pay")

        def test_begins_another_one_after_a_client(kafka):
            assert kafka.transaction("pay").state in ("PrepareAbort", "CompleteAbort")
            client = Producer(
                {"bootstrap.servers": kafka.bootstrap, "transactional.id": "pay", "log_level": 0}
            )
            client.init_transactions(10)
            del client
            kafka.produce("orders", "b", transactional_id="pay")
            kafka.commit("pay")
            records = kafka.wait_for_records("orders", 1, committed=True)
            assert [record.text for record in records] == ["b"]
        """,
        "--kafka-scope=session",
    )
    done.assert_outcomes(passed=2)


def test_shared_broker_drops_topics_and_groups_of_a_test_and_keeps_shared_fixtures(run):
    done = run(
        """
        import pytest
        from confluent_kafka import Consumer

        SEEN = []

        @pytest.fixture(scope="session")
        def catalogue(kafka):
            kafka.produce("catalogue", "kept")

        @pytest.fixture
        def orders(kafka):
            kafka.produce("orders", "a", "b")

        @pytest.mark.kafka(topics={"marked": 2})
        def test_one(catalogue, orders, kafka):
            SEEN.append(kafka)
            assert kafka.topics() == ["catalogue", "marked", "orders"]
            client = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "g",
                               "auto.offset.reset": "earliest", "log_level": 0})
            client.subscribe(["orders"])
            assert len(client.consume(2, timeout=10)) == 2
            client.commit(asynchronous=False)
            client.close()
            assert sum(kafka.group("g").offsets.values()) == 2

        def test_two(kafka):
            assert SEEN == [kafka]
            assert kafka.topics() == ["catalogue"]
            assert [one.text for one in kafka.records("catalogue")] == ["kept"]
            assert kafka.groups() == []
            kafka.stop()

        def test_three(kafka):
            assert kafka.topics() == ["catalogue"]
            kafka.pause()

        def test_four(kafka):
            assert kafka.topics() == ["catalogue"]

        @pytest.fixture
        def ends_badly(kafka):
            yield
            raise ValueError("at its end")

        def test_five(kafka, ends_badly):
            kafka.produce("orders", "a")

        def test_six(kafka):
            assert kafka.topics() == ["catalogue"]

        @pytest.mark.kafka(settings={"num.partitions": "3"})
        def test_seven(kafka):
            pass
        """,
        "--kafka-scope=session",
    )
    done.assert_outcomes(passed=6, failed=1, errors=1)
    done.stdout.fnmatch_lines(
        ["*kafka(settings=...): this test shares its broker (scope session); use kafka_factory*"]
    )


def test_clock_of_a_shared_broker_is_reset_before_each_test(run):
    done = run(
        """
        import time
        import pytest

        @pytest.fixture(scope="module")
        def moved(kafka):
            kafka.advance(hours=24)

        def is_now(kafka):
            (record,) = kafka.produce("t", "a")
            return abs(record.timestamp_ms - 1000 * time.time()) < 60_000

        def test_one(kafka):
            kafka.produce("orders", "old")
            kafka.advance(hours=8 * 24)
            assert kafka.records("orders") == []
            assert not is_now(kafka)

        def test_two(kafka):
            assert is_now(kafka)
            kafka.apply_retention()
            assert len(kafka.records("t")) == 1
            # Files of a topic that was deleted after the test before are removed in their time.
            kafka.advance(minutes=2)
            (directory,) = kafka.look(lambda broker: broker.logs.online)
            assert not [name for name in directory.root.names() if name.endswith("-delete")]

        def test_three(moved, kafka):
            assert is_now(kafka)
        """,
        "--kafka-scope=module",
    )
    done.assert_outcomes(passed=3)


@pytest.mark.parametrize("scope", ["class", "module"])
def test_broker_is_shared_within_the_scope_of_the_ini_file(run, scope):
    done = run(
        """
        SEEN = []

        class TestOne:
            def test_one(self, kafka):
                SEEN.append(kafka)

            def test_two(self, kafka):
                SEEN.append(kafka)

        class TestTwo:
            def test_three(self, kafka):
                SEEN.append(kafka)
                same = [one is SEEN[0] for one in SEEN]
                assert same == [True, True, SCOPE == "module"]
        """.replace("SCOPE", repr(scope)),
        ini=f"kafka_scope = {scope}",
    )
    done.assert_outcomes(passed=3)


def test_wrong_ini_settings_of_the_plugin_are_refused(run):
    done = run("", ini="kafka_scope = test")
    done.stderr.fnmatch_lines(["*kafka_scope = test: expected one of function, class*"])
    done = run("def test_it(kafka): pass", ini="kafka_settings = num.partitions")
    done.stdout.fnmatch_lines(["*kafka_settings: 'num.partitions': expected name=value*"])


def test_a_failed_test_reports_the_state_of_its_broker_and_the_seed(run):
    text = (
        PRODUCER
        + """
    def test_it(kafka):
        producer = produce(kafka, "my-client")
        assert False

    def test_it_passes(kafka):
        pass

    @pytest.mark.trio
    async def test_in_loop(kafka_in_loop):
        await kafka_in_loop.produce("orders", "a")
        assert False

    def test_paused(kafka):
        kafka.pause()
        assert False

    def test_stopped(kafka):
        kafka.stop()
        assert False
    """
    )
    done = run(text, "--kafka-seed=17")
    done.assert_outcomes(passed=1, failed=4)
    done.stdout.fnmatch_lines(
        [
            "*- kafka of test_it.py::test_it: seed -*",
            "17; --kafka-seed=17 gives it to every broker",
            "*- kafka of test_it.py::test_it: topics -*",
            "orders  0: 0 to 1",
            "*- kafka of test_it.py::test_it: latest requests -*",
            "* Produce v* my-client *",
        ],
        consecutive=False,
    )
    done.stdout.fnmatch_lines(["*- kafka_in_loop: seed -*", "17; *", "*- kafka_in_loop: topics -*"])
    done.stdout.no_fnmatch_line("*: tasks -*")
    done.stdout.fnmatch_lines(["the broker is paused: kafka.resume() was not called"])
    done.stdout.fnmatch_lines(["the broker is not running: call start() first"])
    done.stdout.no_fnmatch_line("*test_it_passes*")

    done = run(text, "--kafka-tree", "-k", "test_it or test_in_loop")
    done.stdout.fnmatch_lines(
        ["*- kafka of test_it.py::test_it: tasks -*", "*─ quorum-controller * active=true*"],
        consecutive=False,
    )
    done.stdout.fnmatch_lines(["*- kafka_in_loop: tasks -*"])


def test_traceback_of_a_failed_test_ends_at_its_call_of_the_test_kit(run):
    done = run(
        """
        import anyio
        import pytest

        def test_wait(kafka):
            kafka.produce("orders", "tea")
            kafka.wait_for_records("orders", 2, timeout_s=0.5)

        def test_unknown(kafka):
            kafka.records("orders")

        def test_typo(kafka):
            kafka.advance(hour=1)

        def test_condition(kafka):
            kafka.wait_until(lambda: 1 / 0)

        def test_awaited(kafka):
            anyio.run(kafka.aio.topic, "orders")
        """
    )
    done.assert_outcomes(failed=5)
    done.stdout.fnmatch_lines_random(
        [
            "E *NotReachedError: orders has 1 records, not 2, after 0.5 s",
            "E *orders-0 at 0: key None, value b'tea'",
            "E *KafkaError: UNKNOWN_TOPIC_OR_PARTITION: there is no topic 'orders'",
            "E *TypeError: KafkaInLoop.advance() has no argument 'hour': did you mean 'hours'*",
        ]
    )
    done.stdout.no_fnmatch_line("*testing/*.py:*: *Error")
    done.stdout.no_fnmatch_line("*concurrent/futures*")


def test_seed_of_a_test_is_the_same_in_each_run_by_default(run):
    text = "def test_it(kafka): assert False"
    seeds = [
        [line for line in run(text).outlines if "gives it to every broker" in line]
        for _ in range(2)
    ]
    assert seeds[0] == seeds[1]
    assert len(seeds[0]) == 1


def test_clients_left_connected_by_a_test_are_reported(run):
    text = (
        PRODUCER
        + """
    def test_leaves(kafka):
        LEFT.append(produce(kafka, "culprit"))

    def test_is_innocent(kafka):
        produce(kafka, "closed by its destructor")

    @pytest.fixture
    def producer(kafka):
        return produce(kafka, "held by a fixture")

    def test_has_it_from_a_fixture(producer):
        pass

    def test_fails(kafka):
        producer = produce(kafka, "held by a traceback")
        assert False
    """
    )
    for scope in ("function", "session"):
        done = run(text, f"--kafka-scope={scope}")
        done.assert_outcomes(passed=3, failed=1, errors=1)
        done.stdout.fnmatch_lines(
            [
                "*test_it.py::test_leaves left clients connected to the broker; close them,*",
                "- 'culprit' (confluent-kafka-python *) from 127.0.0.1:*",
            ]
        )
    done = run(text, ini="kafka_clients_left = ignore")
    done.assert_outcomes(passed=3, failed=1)


FAILS = """
    import pytest
    import trio
    from trio_kafka.errors import InvariantError
    from trio_kafka.testing.loop_thread import LoopEndedError

    def fail(kafka):
        async def fail():
            kafka.broker.tasks.fail(InvariantError("state is wrong"))
            await trio.sleep_forever()
        with pytest.raises(LoopEndedError):
            kafka.thread.call(fail)

    def test_culprit(kafka):
        fail(kafka)

    def test_next(kafka):
        kafka.topics()

    def test_factory(kafka_factory):
        fail(kafka_factory())
"""


def test_failure_of_a_broker_is_reported_with_its_test(run):
    done = run(FAILS)
    done.assert_outcomes(passed=3, errors=2)
    done.stdout.fnmatch_lines_random(
        [
            "*the broker of test_it.py::test_culprit failed during the test:*state is wrong*",
            "*the broker of test_it.py::test_factory (broker 1) failed during*state is wrong*",
        ]
    )


def test_failure_of_a_shared_broker_is_reported_in_later_tests_with_its_test(run):
    done = run(FAILS, "--kafka-scope=module", "-k", "culprit or next")
    assert done.parseoutcomes()["errors"] >= 1
    done.stdout.fnmatch_lines_random(
        [
            "*the shared broker failed during test_it.py::test_culprit:*state is wrong*",
            "*the shared broker failed in test_it.py::test_culprit",
        ]
    )


RULES = """
    import pytest
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    def test_unmatched(kafka):
        kafka.fault(api="Fetch", error="NOT_LEADER_OR_FOLLOWER")

    def test_observed(kafka):
        kafka.fault(api="Fetch", observe=True)

    def test_raises(kafka):
        def is_wanted(request, context):
            raise ValueError("in a predicate")

        with kafka.fault(api="Metadata", where=is_wanted, drop=True):
            client = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
            with pytest.raises(KafkaException):
                client.list_topics(timeout=0.5)

    def test_release(kafka):
        kafka.as_version("3.9")

    def test_next(kafka):
        assert not list(kafka.in_loop.controls.faults)
        assert kafka.in_loop.release is None

    @pytest.mark.trio
    async def test_in_loop(kafka_in_loop):
        kafka_in_loop.fault(api="Fetch", error="NOT_LEADER_OR_FOLLOWER")
"""


@pytest.mark.parametrize("scope", ["function", "session"])
def test_fault_rules_end_with_their_test_and_unmatched_rules_are_reported(run, scope):
    done = run(RULES, f"--kafka-scope={scope}")
    done.assert_outcomes(passed=5, failed=1, errors=2)
    done.stdout.fnmatch_lines_random(
        [
            '*no request matched the fault rule {*"NOT_LEADER_OR_FOLLOWER"*',
            "*raised ValueError('in a predicate')*",
        ]
    )


def test_use_of_a_broker_after_its_test_is_an_error(run):
    done = run(
        """
        KEPT = []

        def test_one(kafka, kafka_factory):
            KEPT.extend([kafka, kafka_factory()])

        def test_two():
            KEPT[0].topics()

        def test_three():
            KEPT[1].bootstrap
        """
    )
    done.assert_outcomes(passed=1, failed=2)
    done.stdout.fnmatch_lines_random(
        [
            "*kafka of test_it.py::test_one: the loop has ended, with its block or its test",
            "*the broker has ended, with its block or its test",
        ]
    )


def test_port_of_a_broker_in_a_simulated_machine_is_refused(run):
    done = run(
        """
        import pytest

        @pytest.mark.trio
        @pytest.mark.kafka(port=9092)
        async def test_it(kafka_in_loop):
            pass
        """
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*kafka(port=...): kafka_in_loop has a simulated disk and network*"])
