"""Raft machines under any order of events: nodes, messages between them, and what must never be."""

from random import Random

from trio_kafka.model import NodeId
from trio_kafka.raft.core import Raft
from trio_kafka.raft.history import History
from trio_kafka.raft.values import (
    AcceptRecords,
    Action,
    Appended,
    Commit,
    Election,
    Event,
    FetchResponse,
    Lead,
    Message,
    Resign,
    Role,
    Save,
    Send,
    SendRecords,
    Synced,
    Tick,
    Timeouts,
    Truncate,
    VoteResponse,
)

Record = tuple[int, int]  # epoch, and a number that no other record has
SIZES = (1, 3, 3, 3, 3, 3, 3, 4, 5)
RECORDS = 3  # of one answer, at most
ROUNDS = 60
MOODS = (0.2, 1.0, 1.0, 4.0)  # each schedule has more of one kind of event and less of another
KINDS = {
    "deliver": 40,
    "pick": 6,
    "repeat": 2,
    "drop": 2,
    "delay": 4,
    "tick": 6,
    "commit": 10,
    "sync": 10,
    "again": 6,
    "crash": 2,
    "resign": 1,
    "part": 4,
    "heal": 4,
}
PATHS = frozenset({"deliver", "pick", "repeat", "drop", "delay", "part", "heal"})


class Node:
    """One machine with its log; the shell's part played in the plainest way."""

    def __init__(self, name: NodeId, cluster: "Cluster") -> None:
        self.name = name
        self.cluster = cluster
        self.log: list[Record] = []
        self.synced = 0
        self.saved = Election()
        self.live()

    def live(self) -> None:
        """Begin a new life on what was synced."""
        del self.log[self.synced :]
        self.cluster.close_connections(self.name)
        history = History()
        for end, (epoch, _) in enumerate(self.log, 1):
            history.append(end, epoch)
        self.raft = Raft(
            me=self.name,
            voters=self.cluster.names,
            election=self.saved,
            history=history,
            timeouts=Timeouts(),
            jitter=self.cluster.chance.random,
        )
        self.perform(self.raft.start(self.cluster.now), ())

    def append(self, records: tuple[Record, ...]) -> None:
        for record in records:
            self.log.append(record)
            self.step(Appended(len(self.log), record[0]))

    def write(self) -> None:
        """Append one record as the leader."""
        self.append((self.cluster.new_record(self.raft.election.epoch),))

    def sync(self) -> None:
        self.synced = len(self.log)
        self.step(Synced(self.synced))

    def step(self, event: Event, records: tuple[Record, ...] = ()) -> None:
        self.perform(self.raft.step(event, self.cluster.now), records)

    def perform(self, actions: list[Action], records: tuple[Record, ...]) -> None:
        for action in actions:
            match action:
                case Save(election):
                    self.saved = election
                case Send(to, message):
                    self.cluster.sent.append((to, message, ()))
                case SendRecords(to, response):
                    batch = tuple(self.log[response.offset : response.offset + RECORDS])
                    self.cluster.sent.append((to, response, batch))
                case AcceptRecords(offset):
                    assert offset == len(self.log)
                    self.append(records)
                case Truncate(end):
                    del self.log[end:]
                    self.synced = min(self.synced, end)
                case Lead(epoch):
                    self.cluster.has_leader(epoch, self.name)
                    self.write()
                case Commit(high_watermark):
                    assert high_watermark <= len(self.log)
                    self.cluster.is_committed(self.log[:high_watermark])


class Cluster:
    """Nodes, what is on its way between them, and what must never happen."""

    def __init__(self, size: int, seed: int) -> None:
        self.now = 0.0
        self.names = tuple(NodeId(n) for n in range(1, size + 1))
        self.sent: list[tuple[NodeId, Message, tuple[Record, ...]]] = []
        self.alone: NodeId | None = None  # what goes to and from it waits
        self.held: list[tuple[NodeId, Message, tuple[Record, ...]]] = []
        self.leaders: dict[int, NodeId] = {}
        self.committed: list[Record] = []
        self.chance = Random(seed)
        self.written = 0
        self.nodes = {name: Node(name, self) for name in self.names}

    def new_record(self, epoch: int) -> Record:
        self.written += 1
        return epoch, self.written

    def close_connections(self, name: NodeId) -> None:
        """No answer reaches a later life of the node that asked."""
        for sent in (self.sent, self.held):
            sent[:] = [
                delivery
                for delivery in sent
                if delivery[0] != name or not isinstance(delivery[1], VoteResponse | FetchResponse)
            ]

    def has_leader(self, epoch: int, name: NodeId) -> None:
        assert self.leaders.setdefault(epoch, name) == name

    def is_committed(self, log: list[Record]) -> None:
        shorter = min(len(log), len(self.committed))
        assert log[:shorter] == self.committed[:shorter]
        if len(log) > len(self.committed):
            self.committed = log

    def deliver(self, index: int, *, keep: bool = False) -> None:
        if self.sent:
            index %= len(self.sent)
            delivery = self.sent[index] if keep else self.sent.pop(index)
            to, message, records = delivery
            if self.alone in (to, message.sender):
                self.held.append(delivery)
            else:
                self.nodes[to].step(message, records)

    def heal(self) -> None:
        """Let what has waited arrive, later than what was sent since."""
        self.alone = None
        self.sent += self.held
        self.held.clear()

    def leading(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.raft.role is Role.LEADER]

    def apply(self, kind: str, number: int) -> None:
        """Let one event of that kind happen."""
        if kind in PATHS:
            self.apply_to_messages(kind, number)
        else:
            self.apply_to_nodes(kind, number)

    def apply_to_messages(self, kind: str, number: int) -> None:
        match kind:
            case "deliver":
                for _ in range(number % 4):
                    self.deliver(0)
            case "pick" | "repeat":
                self.deliver(number, keep=kind == "repeat")
            case "drop" | "delay" if self.sent:
                delivery = self.sent.pop(number % len(self.sent))
                if kind == "delay":
                    self.held.append(delivery)
            case "part":
                self.heal()
                name = self.names[number % len(self.names)]
                self.alone = self.chance.choice([*self.leading(), self.nodes[name]]).name
            case "heal":
                self.heal()

    def apply_to_nodes(self, kind: str, number: int) -> None:
        node = self.nodes[self.names[number % len(self.names)]]
        match kind:
            case "again":
                if node.raft.role is Role.FOLLOWER:
                    node.step(Synced(node.synced))
            case "tick":
                self.now = max(self.now, min(node.raft.deadline, self.now + 5.0))
                node.step(Tick())
            case "commit":
                for leader in self.leading():
                    if number % 2 or leader is node:
                        leader.write()
            case "sync":
                node.sync()
            case "crash":
                node.live()
            case "resign":
                node.step(Resign())

    def settle(self) -> None:
        """Deliver all, in order, and let time pass, until all follow one leader and are level."""
        self.heal()
        for _ in range(ROUNDS):
            for _ in range(400):
                if not self.sent:
                    break
                self.deliver(0)
                for node in self.nodes.values():
                    if node.synced < len(node.log):
                        node.sync()
            if self.is_settled():
                return
            self.now += 0.4
            for node in self.nodes.values():
                node.step(Tick())
                if node.raft.role is Role.FOLLOWER:
                    node.step(Synced(node.synced))  # a lost fetch is sent again
                elif node.synced < len(node.log):
                    node.sync()
        roles = [(node.raft.role, node.raft.election.epoch) for node in self.nodes.values()]
        raise AssertionError(f"not settled after {ROUNDS} rounds: {roles}")

    def is_settled(self) -> bool:
        """One leads, the others follow it; all logs are equal and wholly committed."""
        roles = [node.raft.role for node in self.nodes.values()]
        followers = roles.count(Role.FOLLOWER)
        end = len(self.committed)
        return (
            roles.count(Role.LEADER) == 1
            and followers == len(roles) - 1
            and len({node.raft.election.epoch for node in self.nodes.values()}) == 1
            and all(node.log == self.committed for node in self.nodes.values())
            and all(node.raft.high_watermark == end for node in self.nodes.values())
        )


def run_schedule(seed: int, events: int = 400) -> Cluster:
    """One random schedule. AssertionError, InvariantError: it broke a promise of Raft."""
    chance = Random(seed)
    cluster = Cluster(chance.choice(SIZES), chance.randrange(1 << 30))
    weights = [weight * chance.choice(MOODS) for weight in KINDS.values()]
    for kind in chance.choices(list(KINDS), weights=weights, k=events):
        cluster.apply(kind, chance.randrange(60))
    acknowledged = list(cluster.committed)
    cluster.settle()
    for node in cluster.nodes.values():
        assert node.log[: len(acknowledged)] == acknowledged
    return cluster
