"""What handlers ask of consumer groups, besides what the tests of handlers show."""

from collections.abc import Callable
from typing import Any

from attrs import Factory, define

from tests.coordinators.groups.consumer.kit import Scene, refusal
from trio_kafka.coordinators.groups.consumer.service import ConsumerService
from trio_kafka.coordinators.groups.consumer.submachine import ConsumerGroups
from trio_kafka.coordinators.groups.consumer.values import Heartbeat
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage


@define
class Runtime:
    image: MetadataImage


@define
class Coordinator:
    """Answers at once, from one shard."""

    scene: Scene
    runtime: Runtime
    settings: GroupSettings = Factory(GroupSettings)

    def submit(self, wait: str, group_id: str, event: Any, make: Callable[[Any], Any]) -> Any:
        assert (wait, group_id) == ("ConsumerGroupHeartbeat", "g")
        return make(self.scene.driver.ask(event))


def service(level: int, *protocols: str) -> ConsumerService:
    image = MetadataImage(features={"group.version": level})
    settings = GroupSettings(protocols=protocols, consumer_assignors=("range",))
    coordinator: Any = Coordinator(Scene({"a": 1}), Runtime(image), settings)
    made = ConsumerService(coordinator, lambda size: b"\xff" * size)
    made.follow(image)
    return made


def asked(member_id: str, **said: Any) -> Heartbeat:
    return Heartbeat(
        group_id="g",
        member_id=member_id,
        epoch=0,
        client_id="c",
        client_host="h",
        rebalance_timeout_ms=5,
        topics=["a"],
        owned=[],
        **said,
    )


def test_a_member_without_an_id_is_given_one_of_22_characters() -> None:
    answer = service(1, "consumer").heartbeat(asked("", version=0), lambda told: told)

    assert answer.member_id == "_" * 21 + "w"


def test_groups_are_served_where_the_feature_and_the_setting_say_so() -> None:
    assert service(1, "classic", "consumer").is_served
    assert not service(0, "classic", "consumer").is_served
    assert not service(1, "classic").is_served
    with refusal(ErrorCode.UNSUPPORTED_VERSION):
        service(0, "consumer").heartbeat(asked("m"), lambda told: told)
    (error,) = service(0, "consumer").describe(["g"], lambda told: told)
    assert isinstance(error, KafkaError)


def test_what_is_wrong_with_a_request_is_said_before_anything_else() -> None:
    with refusal(ErrorCode.UNSUPPORTED_ASSIGNOR):
        service(1, "consumer").heartbeat(asked("m", assignor="uniform"), lambda told: told)
    answer = service(1, "consumer").heartbeat(asked("m", assignor="range"), lambda told: told)
    assert answer.member_id == "m"


def test_all_shards_have_the_same_assignors() -> None:
    one = service(1, "consumer")

    found = one.submachine(Scene().driver.machine)

    assert isinstance(found, ConsumerGroups)
    assert found.state.assignors is one.assignors
    assert one.assignors.names == ("range",)
