"""The machine of calls: where requests go, what is tried again, what an error says."""

import pytest

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.calls.call import Call, Rejection, as_older, perform, result_of
from trio_kafka.clients.admin.calls.targets import (
    ANY,
    CONTROLLER,
    BrokerTarget,
    LeaderTarget,
    group_target,
)
from trio_kafka.clients.admin.partitions import leaders, partition_place
from trio_kafka.clients.errors import (
    AuthorizationError,
    ClientError,
    Place,
    RetriableError,
    TimedOutError,
    TopicError,
    UnsupportedError,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse

PARTITIONS = [TopicPartition("t", number) for number in range(4)]


def echo(request):
    return EchoResponse(text=request.text)


def call_to(targets, codes=(), **options):
    """A call whose request names its items, and whose answers have these codes, one by one."""
    left_over = list(codes)

    def read(response, items):
        for item in items:
            yield item, result_of(left_over.pop(0) if left_over else 0, None, response.text)

    options.setdefault("request", lambda items, _timeout_ms: EchoRequest(" ".join(map(str, items))))
    options.setdefault("read", read)
    return perform(Call(targets=targets, **options))


def test_items_of_one_leader_go_into_one_request_and_values_keep_the_order_of_items():
    cluster = Cluster({EchoRequest: echo})

    results = cluster.run(call_to(leaders(PARTITIONS)))

    assert [(node, request.text) for node, request in cluster.requests] == [
        (1, "t-0 t-2"),
        (2, "t-1 t-3"),
    ]
    assert list(results) == PARTITIONS
    assert len(cluster.lookups) == 1


def test_requests_have_at_most_so_many_items():
    cluster = Cluster({EchoRequest: echo})

    cluster.run(call_to(dict.fromkeys("abcde", ANY), most=2))

    assert [request.text for _, request in cluster.requests] == ["a b", "c d", "e"]


def test_controller_is_looked_up_only_after_a_broker_that_does_not_forward():
    cluster = Cluster({EchoRequest: echo})

    results = cluster.run(call_to({"a": CONTROLLER}, [ErrorCode.NOT_CONTROLLER]))

    assert [node for node, _ in cluster.requests] == [None, 2]
    assert results.all() == {"a": "a"}


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (LeaderTarget(PARTITIONS[1]), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (group_target("g"), ErrorCode.NOT_COORDINATOR),
    ],
)
def test_broker_that_has_moved_is_looked_up_again(target, code):
    cluster = Cluster({EchoRequest: echo})

    results = cluster.run(call_to({"a": target}, [code]))

    assert len(cluster.lookups) == 2
    assert results["a"] == "a"


def test_coordinator_that_is_loading_is_asked_again_without_a_lookup_after_a_longer_pause():
    cluster = Cluster({EchoRequest: echo})
    codes = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2

    results = cluster.run(call_to({"a": group_target("g")}, codes))

    assert len(cluster.lookups) == 1
    assert [pause for pause in cluster.pauses if pause] == [pytest.approx(0.1), pytest.approx(0.2)]
    assert results["a"] == "a"


def test_only_items_whose_error_may_pass_are_asked_for_again():
    cluster = Cluster({EchoRequest: echo})
    codes = [ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 0]

    results = cluster.run(call_to(dict.fromkeys("abc", ANY), codes))

    assert [request.text for _, request in cluster.requests] == ["a b c", "b"]
    assert isinstance(results.errors["a"], AuthorizationError)
    assert results.values_by_item == {"b": "b", "c": "a b c"}


def test_attempts_end_with_retries_and_the_last_error():
    cluster = Cluster({EchoRequest: echo}, retries=2)
    codes = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 9

    results = cluster.run(call_to({"a": group_target("g")}, codes))

    assert len(cluster.requests) == 3
    assert results.errors["a"].code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_deadline_is_an_error_that_names_the_last_failure():
    cluster = Cluster({EchoRequest: echo}, retries=99, rounds=4)
    codes = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 99

    error = cluster.run(call_to({"a": group_target("g")}, codes)).errors["a"]

    assert isinstance(error, TimedOutError)
    assert "no result within 60 s; the last failure: " in str(error)
    assert "COORDINATOR_LOAD_IN_PROGRESS" in str(error)


def test_topic_that_does_not_exist_is_looked_up_a_few_times_only():
    cluster = Cluster({EchoRequest: echo}, retries=99, missing=frozenset({"gone"}))
    gone = TopicPartition("gone", 0)

    results = cluster.run(call_to(leaders([gone, PARTITIONS[0]]), place=partition_place))

    assert isinstance(results.errors[gone], TopicError)
    assert (results.errors[gone].topic, results.errors[gone].partition) == ("gone", 0)
    assert results[PARTITIONS[0]] == "t-0"
    assert len(cluster.lookups) == 4


def test_broker_that_is_not_in_the_cluster_is_an_error():
    cluster = Cluster({EchoRequest: echo})

    error = cluster.run(call_to({7: BrokerTarget(7)})).errors[7]

    assert "broker 7 is not in the cluster" in str(error)


@pytest.mark.parametrize("was_sent", [True, False])
def test_error_after_a_lost_connection_says_if_the_request_may_have_been_carried_out(was_sent):
    failures = [RetriableError("lost", place=Place(broker="broker 1"), sent=was_sent)]
    cluster = Cluster({EchoRequest: lambda request: failures.pop() if failures else echo(request)})

    error = cluster.run(call_to({"a": ANY}, [ErrorCode.TOPIC_ALREADY_EXISTS])).errors["a"]

    assert error.code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert error.sent is was_sent


def test_error_that_cannot_pass_ends_its_items_at_once():
    cluster = Cluster({EchoRequest: lambda _request: ClientError("no", sent=False)})

    results = cluster.run(call_to(dict.fromkeys("ab", ANY)))

    assert len(cluster.requests) == 1
    assert set(results.errors) == {"a", "b"}


def test_older_request_takes_over_if_the_broker_has_no_version_for_the_newer_one():
    older = Call(
        targets=dict.fromkeys("ab", ANY),
        request=lambda items, _timeout_ms: EchoRequest("older " + " ".join(items)),
        read=lambda response, items: [(item, response.text) for item in items],
        place=lambda item: Place(topic=item),
    )

    def answer(request):
        return echo(request) if request.text.startswith("older") else UnsupportedError("too old")

    results = Cluster({EchoRequest: answer}).run(
        call_to(dict.fromkeys("ab", ANY), older=as_older(older))
    )

    assert results.all() == {"a": "older a b", "b": "older a b"}


def test_item_that_the_answer_does_not_name_is_an_error_and_others_are_ignored():
    def read(_response, _items):
        return [("a", 1), ("x", 2), ("a", Rejection(3))]

    results = Cluster({EchoRequest: echo}).run(call_to(dict.fromkeys("ab", ANY), read=read))

    assert results.values_by_item == {"a": 1}
    assert "the broker's answer does not name it" in str(results.errors["b"])


def test_call_without_items_has_no_results():
    assert len(Cluster().run(call_to({}))) == 0


def test_round_has_at_most_100_requests_and_the_others_follow_without_a_pause():
    cluster = Cluster({EchoRequest: echo})

    results = cluster.run(call_to(dict.fromkeys(range(250), ANY), most=1))

    assert len(results.all()) == len(cluster.requests) == 250
    assert cluster.pauses == [0, 0, 0]


def test_leader_that_cannot_be_reached_is_looked_up_again():
    failures = [RetriableError("lost", sent=False)]
    cluster = Cluster({EchoRequest: lambda request: failures.pop() if failures else echo(request)})

    assert cluster.run(call_to(leaders(PARTITIONS[:1]))).all()
    assert len(cluster.lookups) == 2
