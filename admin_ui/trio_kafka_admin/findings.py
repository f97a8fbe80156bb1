"""Current problems of a broker in words: rules over two snapshots of its tree.

A finding is about the present or about the time between the snapshots. Problems that are over are
left out, since false alarms cost trust; only a block of the loop stays for a while, with its age,
because no page can show it while it lasts. A rule is a function of one node; add it to the list
below.
"""

from collections.abc import Callable
from typing import Final

from attrs import frozen

from trio_kafka.introspect.snapshots import HOPS, NodeSnapshot, Path, TreeSnapshot
from trio_kafka.introspect.tree import Figure
from trio_kafka_admin.derived_nodes import BESIDE, GROUP_LAG, LONG_S, LONG_WAIT

_LATE_S: Final = 5.0  # bound for a queue of a plane
_BUSY_PERCENT: Final = 90.0
_MINUTE_S: Final = 60.0
_REMEMBERED_S: Final = 15 * _MINUTE_S  # time for which a block of the loop stays a finding
_SLOW_MS: Final = 100.0  # a mean: of APIs that answer promptly, and of interceptor calls
_PROMPT: Final = frozenset(
    {
        *("ApiVersions", "ConsumerGroupHeartbeat", "FindCoordinator", "Heartbeat"),
        *("InitProducerId", "LeaveGroup", "ListOffsets", "Metadata", "OffsetCommit"),
        *("OffsetFetch", "OffsetForLeaderEpoch", "Produce"),
    }
)
_HOP_WORDS: Final = {
    "queue": "waiting for a handler",
    "local": "in its handler",
    "remote": "parked",
    "response_queue": "waiting for its processor",
    "send": "being sent",
}
_STUCK_LAG: Final = 10_000  # records: a group with members that does not reduce it is slow or stuck


@frozen
class Finding:
    """Problem that the overview shows.

    words: a sentence without its full stop. node: path of the node concerned.
    """

    words: str
    node: str


@frozen(kw_only=True)
class Place:
    """Node of the tree in the latest snapshot and the one before."""

    path: Path
    now: NodeSnapshot
    past: NodeSnapshot | None
    seconds: float | None  # between the snapshots

    @property
    def name(self) -> str:
        """Path of the node without the root's name."""
        return "/".join(self.path[1:])

    def __getitem__(self, figure: str) -> Figure:
        return self.now.figures.get(figure)

    def number(self, figure: str) -> float:
        """Return a numeric figure; 0 if it is missing or not a number."""
        return self.now.number(figure)

    def grown(self, figure: str) -> float:
        """Return the growth of a figure since the earlier snapshot; 0 if there is none.

        For a node that is new since then, return the whole figure.
        """
        if self.seconds is None:
            return 0.0
        return self.number(figure) - (self.past.number(figure) if self.past else 0.0)


def findings(before: TreeSnapshot | None, after: TreeSnapshot) -> list[Finding]:
    """Return the findings in the order of the tree."""
    problems = []
    seconds = None if before is None else after.at - before.at
    for path, node in after.nodes.items():
        past = None if before is None else before.nodes.get(path)
        place = Place(path=path, now=node, past=past, seconds=seconds)
        for rule in RULES:
            words = rule(place)
            if words:
                linked = path[:-1] if node.kind in BESIDE else path
                problems.append(Finding(words, "/".join(linked)))
    return problems


def full_channel(place: Place) -> str | None:
    bound, depth = place.number("bound"), place.number("depth")
    if place.now.kind == "channel" and 0 < bound <= depth:
        return f"{place.name} is full: {depth:.0f} of {bound:.0f} items"
    return None


def late_channel(place: Place) -> str | None:
    oldest_s = place.number("oldest_s")
    if place.now.kind == "channel" and oldest_s > _LATE_S:
        return f"the oldest item of {place.name} has waited for {oldest_s:.1f} s"
    return None


def spent_limiter(place: Place) -> str | None:
    tokens, waiting = place.number("tokens"), place.number("waiting")
    if place.now.kind == "limiter" and waiting and place.number("borrowed") >= tokens:
        return f"all {tokens:.0f} tokens of {place.name} are taken, and {waiting:.0f} tasks wait"
    return None


def failed_plugin(place: Place) -> str | None:
    if place.now.kind == "plugin" and place["state"] == "failed":
        return f"plugin {place.now.name} has failed: {place['error']}"
    return None


def failed_job(place: Place) -> str | None:
    error = place["last_error"]
    if place.now.kind == "job" and error:
        return f"job {place.now.name} failed in its last run: {error}"
    return None


def dropped(place: Place) -> str | None:
    lost = place.grown("dropped")
    if place.now.kind == "channel" and lost > 0:
        return f"{place.name} was full: {lost:.0f} items were dropped"
    return None


def busy_loop(place: Place) -> str | None:
    if place.path[-1] != "loop" or not place.seconds or place.past is None:
        return None
    percent = 100 * place.grown("busy_s") / place.seconds
    if percent > _BUSY_PERCENT:
        return f"the loop of {place.path[-2]} is busy for {percent:.0f} % of the time"
    return None


def blocked_loop(place: Place) -> str | None:
    """Report the last block, for some time after its end: pages cannot say it while it lasts."""
    ago_s = place.number("last_ago_s")
    if place.path[-1] != "watchdog" or not place.number("blocks") or ago_s > _REMEMBERED_S:
        return None
    culprit = place["last_plugin"] or place["last_task"]
    held_ms = place.number("last_ms")
    return (
        f"{culprit} blocked the loop for {held_ms:.0f} ms, at {place['last_where']},"
        f" {_ago(ago_s)} ago"
    )


def _ago(seconds: float) -> str:
    """Return a time in words: seconds up to a minute, then minutes."""
    if seconds < _MINUTE_S:
        return f"{seconds:.0f} s"
    minutes = round(seconds / _MINUTE_S)
    return f"{minutes} minute{'s' if minutes > 1 else ''}"


def not_running(place: Place) -> str | None:
    if place.path[-1] == "lifecycle-manager" and place["state"] != "running":
        return f"the broker is not serving: it is {place['state']}"
    return None


def slow_api(place: Place) -> str | None:
    if len(place.path) < 3 or place.path[-2] != "requests" or place.now.name not in _PROMPT:
        return None
    count = place.grown("count")
    if count <= 0:
        return None
    mean_ms = place.grown("total_ms") / count
    if mean_ms < _SLOW_MS:
        return None
    hop = max(HOPS, key=lambda name: place.grown(f"{name}_ms"))
    hop_ms = place.grown(f"{hop}_ms") / count
    return (
        f"{place.now.name} takes {mean_ms:,.0f} ms on average, {hop_ms:,.0f} ms of it"
        f" {_HOP_WORDS[hop]}"
    )


def slow_interceptor(place: Place) -> str | None:
    if len(place.path) < 2 or place.path[-2] != "interceptors":
        return None
    calls = place.grown("calls")
    mean_ms = place.grown("ms") / calls if calls > 0 else 0.0
    if mean_ms < _SLOW_MS:
        return None
    interceptor = place.now.name.removeprefix(f"{place['owner']} ")
    return f"plugin {place['owner']} takes {mean_ms:,.0f} ms of each request, {interceptor}"


def fault_rule(place: Place) -> str | None:
    struck = place.grown("hits")
    if place["rule"] is None or struck <= 0:
        return None
    rule = f"rule {place.now.name} of plugin faults"
    return f"{rule} has matched {struck:,.0f} requests: {place['rule']}"


def long_wait(place: Place) -> str | None:
    if place.now.kind != LONG_WAIT:
        return None
    count, oldest_s = place.number("count"), place.number("oldest_s")
    return (
        f"{place['api']} requests that have waited for more than {LONG_S:.0f} s: {count:,.0f};"
        f" the oldest, of client {place['client'] or 'without an id'}, for {oldest_s:,.0f} s;"
        f" they wait for {place['waits_for']}"
    )


def lagging_group(place: Place) -> str | None:
    """Report a growing lag, or a large one that members do not reduce."""
    if place.now.kind != GROUP_LAG or not place.seconds:
        return None
    lag, members = place.number("lag"), place.number("members")
    grown = place.grown("lag")
    if grown > 0:
        change = f"{grown:,.0f} more than {place.seconds:.0f} s ago"
    elif not grown and members and lag >= _STUCK_LAG:
        change = f"unchanged for {place.seconds:.0f} s"
    else:
        return None
    empty = "" if members else ", and has no members"
    return f"group {place.now.name} lags by {lag:,.0f} records, {change}{empty}"


_COUNTED: Final = {
    ("log-manager", "offline"): "log directories offline",
    ("replica-manager", "offline"): "partitions offline",
    ("replica-manager", "under_replicated"): "under-replicated partitions",
    ("replica-manager", "under_minimum"): "partitions with fewer than min.insync.replicas in sync",
    ("listening", "failed"): "listeners that could not be opened",
    ("group-coordinator", "failed"): "partitions of __consumer_offsets that could not be loaded",
}


def counted(place: Place) -> str | None:
    texts = [
        f"{words}: {place.number(figure):.0f}"
        for (name, figure), words in _COUNTED.items()
        if place.path[1:] == (name,) and place.number(figure)
    ]
    return "; ".join(texts) or None


RULES: Final[tuple[Callable[[Place], str | None], ...]] = (
    full_channel,
    late_channel,
    spent_limiter,
    failed_plugin,
    failed_job,
    dropped,
    busy_loop,
    blocked_loop,
    not_running,
    slow_api,
    slow_interceptor,
    fault_rule,
    long_wait,
    lagging_group,
    counted,
)
