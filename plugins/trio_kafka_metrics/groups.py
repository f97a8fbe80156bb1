"""Metrics of groups: number by state, and lag.

Kafka's broker has no lag metric, as its clients report their own. Lag has the names of the most
common exporter; it is computed at collection, for the partitions that this broker leads.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

from trio_kafka.coordinators.groups.classic.states import ClassicState
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.lag import EndOf, ends_of, lags
from trio_kafka.coordinators.groups.protocols import Group
from trio_kafka.coordinators.shards.protocols import ShardState
from trio_kafka.introspect.texts import distinct
from trio_kafka.plugin import Kind
from trio_kafka.requests.parts import Missing, Parts
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka_metrics.metric_values import Metric, MetricValues, native

_A_STEP: Final = 20  # groups
_CLASSIC: Final = tuple(state.value for state in ClassicState)
_CONSUMER: Final = ("Empty", "Assigning", "Reconciling", "Stable", "Dead")

OFFSETS = native("group_offsets", Kind.GAUGE, "Committed offsets.")
GROUPS = native("groups", Kind.GAUGE, "Groups by protocol.", "type", "state")
PARTITIONS = native(
    "group_coordinator_partitions",
    Kind.GAUGE,
    "Partitions of the offsets topic on this broker.",
    "state",
)


def _exporter(name: str, help_text: str, *labels: str) -> Metric:
    return Metric(
        name=f"kafka_consumergroup_{name}", kind=Kind.GAUGE, help=help_text, labels=labels
    )


_PLACE: Final = ("consumergroup", "topic", "partition")
OFFSET = _exporter("current_offset", "Committed offset of a group.", *_PLACE)
LAG = _exporter("lag", "Records that a group has not read yet.", *_PLACE)
OFFSET_SUM = _exporter("current_offset_sum", "Of all partitions.", "consumergroup", "topic")
LAG_SUM = _exporter("lag_sum", "Of all partitions.", "consumergroup", "topic")
MEMBERS = _exporter("members", "Members of a group.", "consumergroup")


def read_groups(parts: Parts, collected: MetricValues) -> Steps[None]:
    """Read the metrics, in steps of some groups."""
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
            _read_group(machine, group, end_of=end_of, collected=collected)
            looked_at += 1
            if not looked_at % _A_STEP:
                yield
    yield
    _collect_states(states, collected)
    collected.set(OFFSETS, sum(machine.offsets.count for machine in coordinator.machines))
    shards = [shard.state for shard in coordinator.runtime.shards.values()]
    for state in (ShardState.LOADING, ShardState.ACTIVE, ShardState.FAILED):
        collected.set(PARTITIONS, shards.count(state), state.value)
    yield


def _collect_states(states: Mapping[str, Counter[str]], collected: MetricValues) -> None:
    for kind, names in (("classic", _CLASSIC), ("consumer", _CONSUMER)):
        for state in names:
            collected.set(GROUPS, states[kind][state], kind, state)


def _read_group(machine: Groups, group: Group, *, end_of: EndOf, collected: MetricValues) -> None:
    name = distinct(group.group_id)
    offset_sums: dict[str, int] = {}
    lag_sums: dict[str, int] = {}  # without topics of which no lag is known
    if collected.take(1):
        collected.set(MEMBERS, len(group.members()), name)
    for committed in lags(machine, group.group_id, end_of):
        offset_sums[committed.topic] = offset_sums.get(committed.topic, 0) + committed.offset
        if committed.lag is not None:
            lag_sums[committed.topic] = lag_sums.get(committed.topic, 0) + committed.lag
        if collected.take(2):
            place = (name, committed.topic, str(committed.partition))
            collected.set(OFFSET, committed.offset, *place)
            if committed.lag is not None:
                collected.set(LAG, committed.lag, *place)
    for topic, offset in offset_sums.items():
        if collected.take(2):
            collected.set(OFFSET_SUM, offset, name, topic)
            if topic in lag_sums:
                collected.set(LAG_SUM, lag_sums[topic], name, topic)
