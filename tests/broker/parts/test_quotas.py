"""Quotas of the metadata log are obeyed: at once, after a restart, and by addresses."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import batch, produce_request
from tests.apis.test_k49_alter_client_quotas import alter, entry
from trio_kafka.broker.parts.quotas import QuotaPublisher
from trio_kafka.introspect.tree import Node
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage, QuotaEntity
from trio_kafka.metadata.immutable_map import ImmutableMap
from trio_kafka.quotas.limits import ANY
from trio_kafka.quotas.quotas import Quotas
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world


async def test_quotas_are_enforced_after_a_restart(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await served.create_topic("t")
        await alter(served, entry({"client-id": None}, producer_byte_rate=1000))

    async with served_broker(world) as served:
        answer = await served.ask(produce_request("t", (0, batch(bytes(15_000)))), 12)
        assert answer.throttle_time_ms > 0


async def test_quota_windows_follow_their_settings(autojump_clock: MockClock) -> None:
    windows = {
        "quota.window.num": "3",
        "quota.window.size.seconds": "5",
        "controller.quota.window.num": "4",
        "controller.quota.window.size.seconds": "2",
    }
    async with served_broker(simulated_world(), windows) as served:
        await alter(
            served, entry({"client-id": None}, consumer_byte_rate=10, controller_mutation_rate=5)
        )
        quotas = served.broker.parts.quotas.quotas
        assert quotas.fetch.most_at_once("u", "c", 0) == 10 * 2 * 5
        account = quotas.mutation.accounts.of("u", "c", 0)
        assert account.meter.bucket.tokens(account.bound, 0) == 5 * 4 * 2


async def test_connection_rate_quotas_of_addresses_are_applied_and_removed(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        accounts = served.broker.parts.limits.accounts
        await alter(
            served,
            entry({"ip": "10.0.0.1"}, connection_creation_rate=5),
            entry({"ip": None}, connection_creation_rate=7),
        )
        assert (accounts.rate_of("10.0.0.1"), accounts.rate_of("10.0.0.2")) == (5, 7)
        await alter(served, entry({"ip": "10.0.0.1"}, connection_creation_rate=None))
        assert accounts.rate_of("10.0.0.1") == 7


async def test_quota_expiry_job_runs_only_after_a_quota_was_set(
    autojump_clock: MockClock,
) -> None:
    patient = {"connections.max.idle.ms": "-1"}
    async with served_broker(simulated_world(), patient) as served:
        (job,) = [n for _, n in served.broker.node.walk() if n.name == "quota-expiry"]
        await trio.sleep(3600)
        assert job.figures()["runs"] == 0
        await alter(served, entry({"client-id": None}, producer_byte_rate=1000))
        await alter(served, entry({"client-id": None}, producer_byte_rate=None))
        await trio.sleep(3600)
        assert job.figures()["runs"] == 1


class Addresses:
    """Stand-in for the limits of connections: keeps the rate of each address."""

    def __init__(self) -> None:
        self.rates: dict[str | None, int | None] = {}

    def set_ip_rate(self, address: str | None, rate: int | None) -> None:
        self.rates[address] = rate


def test_connection_rate_quota_of_a_host_name_is_ignored() -> None:
    addresses = Addresses()
    publisher = QuotaPublisher(Quotas(lambda: 0.0, Node("n", "part")), addresses)
    quotas: dict[QuotaEntity, dict[str, float]] = {
        (("ip", "some.host"),): {"connection_creation_rate": 5.0},
        (("ip", "::1"),): {"connection_creation_rate": 6.0},
    }
    list(publisher.start(MetadataImage(quotas=ImmutableMap(quotas))))
    assert addresses.rates == {"::1": 6}


def test_quota_change_published_during_the_initial_load_is_kept() -> None:
    quotas = Quotas(lambda: 0.0, Node("n", "part"))
    publisher = QuotaPublisher(quotas, Addresses())
    many: dict[QuotaEntity, dict[str, float]] = {
        (("client-id", f"c{n}"),): {"producer_byte_rate": 1.0} for n in range(200)
    }
    image = MetadataImage(quotas=ImmutableMap(many))
    steps = publisher.start(image)
    next(steps)  # a part of it

    delta = MetadataDelta(image)
    delta.quotas[(("client-id", "c199"),)] = {"producer_byte_rate": 9.0}
    list(publisher.publish(delta, image))
    list(steps)

    limits = dict(quotas.produce.accounts.limits)
    assert (limits["", "c198"], limits["", "c199"], len(limits)) == (1.0, 9.0, 200)


@pytest.mark.parametrize(
    ("names", "entity"),
    [
        ({"user": "u"}, ("u", "")),
        ({"user": None}, (ANY, "")),
        ({"client-id": "c"}, ("", "c")),
        ({"client-id": None}, ("", ANY)),
        ({"user": "u", "client-id": None}, ("u", ANY)),
        ({"user": None, "client-id": "c"}, (ANY, "c")),
    ],
)
def test_quota_entity_maps_to_its_user_and_client_id_level(
    names: dict[str, str | None], entity: tuple[str | None, str | None]
) -> None:
    quotas = Quotas(lambda: 0.0, Node("n", "part"))
    at: QuotaEntity = tuple(sorted(names.items()))
    image = MetadataImage(quotas=ImmutableMap({at: {"consumer_byte_rate": 3.0}}))
    list(QuotaPublisher(quotas, Addresses()).start(image))
    assert dict(quotas.fetch.accounts.limits) == {entity: 3.0}
