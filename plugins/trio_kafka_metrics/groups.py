"""Metrics of groups: number by state, and lag.

Kafka's broker has no lag metric, as its clients report their own. Lag has the names of the most
common exporter; it is computed at collection, for the partitions that this broker leads.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

from trio_kafka.coordinators.groups.group import Group
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.lag import EndOf, ends_of, lags
from trio_kafka.coordinators.state import State
from trio_kafka.plugin import Kind, Steps
from trio_kafka.requests.parts import Missing, Parts
from trio_kafka_metrics.readings import Metric, Readings, own

_A_STEP: Final = 20  # groups
_CLASSIC: Final = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty")
_CONSUMER: Final = ("Empty", "Assigning", "Reconciling", "Stable", "Dead")

OFFSETS = own("group_offsets", Kind.GAUGE, "Committed offsets.")
GROUPS = own("groups", Kind.GAUGE, "Groups by protocol.", "type", "state")
PARTITIONS = own(
    "group_coordinator_partitions",
    Kind.GAUGE,
    "Partitions of the offsets topic on this broker.",
    "state",
)


def _exporter(name: str, told: str, *labels: str) -> Metric:
    return Metric(name=f"kafka_consumergroup_{name}", kind=Kind.GAUGE, help=told, labels=labels)


_PLACE: Final = ("consumergroup", "topic", "partition")
OFFSET = _exporter("current_offset", "Committed offset of a group.", *_PLACE)
LAG = _exporter("lag", "Records that a group has not read yet.", *_PLACE)
OFFSET_SUM = _exporter("current_offset_sum", "Of all partitions.", "consumergroup", "topic")
LAG_SUM = _exporter("lag_sum", "Of all partitions.", "consumergroup", "topic")
MEMBERS = _exporter("members", "Members of a group.", "consumergroup")


def read_groups(parts: Parts, readings: Readings) -> Steps[None]:
    """Read the metrics, in chunks of groups."""
    coordinator = parts.groups
    if isinstance(coordinator, Missing):
        return
    states: dict[str, Counter[str]] = defaultdict(Counter)
    end_of, looked_at = ends_of(parts.replicas), 0
    for machine in coordinator.machines:
        for group in tuple(machine.by_id.values()):
            if group.group_id not in machine.by_id:
                continue  # the group was deleted meanwhile, perhaps with its shard
            states[group.type][group.state] += 1
            _read_group(machine, group, end_of, readings)
            looked_at += 1
            if not looked_at % _A_STEP:
                yield
    yield
    _tell_states(states, readings)
    readings.set(OFFSETS, sum(machine.offsets.count for machine in coordinator.machines))
    shards = [shard.state for shard in coordinator.runtime.shards.values()]
    for state in (State.LOADING, State.ACTIVE, State.FAILED):
        readings.set(PARTITIONS, shards.count(state), state.value)
    yield


def _tell_states(states: Mapping[str, Counter[str]], readings: Readings) -> None:
    for kind, known in (("classic", _CLASSIC), ("consumer", _CONSUMER)):
        for state in known:
            readings.set(GROUPS, states[kind][state], kind, state)


def _read_group(machine: Groups, group: Group, end_of: EndOf, readings: Readings) -> None:
    name = group.group_id
    topics: dict[str, list[int]] = {}
    if readings.take(1):
        readings.set(MEMBERS, len(group.members()), name)
    for one in lags(machine, name, end_of):
        sums = topics.setdefault(one.topic, [0, 0])
        sums[0] += one.offset
        sums[1] += one.lag or 0
        if readings.take(2):
            place = (name, one.topic, str(one.partition))
            readings.set(OFFSET, one.offset, *place)
            if one.lag is not None:
                readings.set(LAG, one.lag, *place)
    for topic, (offset, lag) in topics.items():
        if readings.take(2):
            readings.set(OFFSET_SUM, offset, name, topic)
            readings.set(LAG_SUM, lag, name, topic)
