"""Assembly of the replication of one broker: its objects, each with one job, and their tasks."""

from typing import NoReturn

import trio

from trio_kafka.attributes import frozen
from trio_kafka.introspect.tree import Node
from trio_kafka.log.decompression import Decompression
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.model import NodeId
from trio_kafka.purgatory import Timers
from trio_kafka.replication.leader.cold_reads import ColdReads
from trio_kafka.replication.leader.fetches import Fetches
from trio_kafka.replication.leader.markers import LocalMarkers
from trio_kafka.replication.leader.queued_appends import QueuedAppends
from trio_kafka.replication.leader.session_cache import MOST_PARTITIONS, SessionCache
from trio_kafka.replication.leader.transaction_gate import Admissions
from trio_kafka.replication.lifecycle import ReplicaLifecycle
from trio_kafka.replication.moves.directory_assignments import (
    Assign,
    DirectoryAssignments,
    assign_none,
)
from trio_kafka.replication.moves.moves import LogMoves
from trio_kafka.replication.purgatories import Purgatories
from trio_kafka.replication.table import Replicas
from trio_kafka.replication.topic_metrics import MetricsByTopic
from trio_kafka.scheduling.yield_point import YieldPoint
from trio_kafka.world.world import World


@frozen(kw_only=True)
class ReplicationLimits:
    """Limits from the settings. moves_at_once: None: as many as there are directories."""

    session_slots: int = 1000
    session_partitions: int = MOST_PARTITIONS
    moves_at_once: int | None = None


@frozen(kw_only=True)
class Replication:
    """Objects of the replication of one broker. Handlers find them by their classes."""

    replicas: Replicas
    purgatories: Purgatories
    fetches: Fetches
    decompression: Decompression
    queued_appends: QueuedAppends
    moves: LogMoves
    topic_metrics: MetricsByTopic
    lifecycle: ReplicaLifecycle
    markers: LocalMarkers
    admissions: Admissions

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Run the tasks of these objects until cancelled."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self.fetches.cold.run, name="cold-reads")
            await nursery.start(self.queued_appends.run, name="slow-appends")
            await nursery.start(self.replicas.pending.run, name="late-replicas")
            await nursery.start(self.moves.assignments.run, name="directory-assignments")
            await nursery.start(self.moves.run, name="replica-alter-log-dirs")
            task_status.started()
            await trio.sleep_forever()


def assemble(
    world: World,
    broker: NodeId,
    logs: LogManager,
    timers: Timers,
    node: Node,
    *,
    limits: ReplicationLimits | None = None,
    yield_point: YieldPoint | None = None,
    assign: Assign = assign_none,
) -> Replication:
    """Return the objects for the replicas of `broker`; `Replication.run` runs their tasks.

    node: root of the tree. assign: commits the directories of replicas to the metadata.
    """
    limits, yield_point = limits or ReplicationLimits(), yield_point or YieldPoint()
    replicas = Replicas(node)
    purgatories = Purgatories(timers, replicas.node)
    sessions = SessionCache(
        limits.session_slots,
        world.random.randrange,
        purgatories.fetch.attach,
        purgatories.fetch.detach,
        most_partitions=limits.session_partitions,
        exists=replicas.exists,
    )
    replicas.node.add("fetch-sessions", "part", sessions.figures)
    fetches = Fetches(
        replicas=replicas,
        purgatory=purgatories.fetch,
        sessions=sessions,
        cold=ColdReads(replicas.node),
        yield_point=yield_point,
    )
    decompression = Decompression(world, replicas.node)
    queued_appends = QueuedAppends(world, replicas.node, decompression, yield_point)
    assignments = DirectoryAssignments(assign, replicas.node)
    moves = LogMoves(logs, replicas.node, assignments, at_once=limits.moves_at_once)
    topic_metrics = MetricsByTopic()
    return Replication(
        replicas=replicas,
        purgatories=purgatories,
        fetches=fetches,
        decompression=decompression,
        queued_appends=queued_appends,
        moves=moves,
        topic_metrics=topic_metrics,
        markers=LocalMarkers(replicas),
        admissions=Admissions(),
        lifecycle=ReplicaLifecycle(
            broker=broker,
            replicas=replicas,
            logs=logs,
            purgatories=purgatories,
            join_queue=queued_appends.join,
            moves=moves,
            topic_metrics=topic_metrics,
        ),
    )
