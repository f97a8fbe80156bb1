"""What is wrong with a broker just now, in words: rules over two looks at its tree.

A finding is about now, or about what happened between the looks: what is over is told by nobody, as
false alarms cost trust. A rule is a function of one node; the list below is all there is to add to.
"""

from collections.abc import Callable
from typing import Final

from attrs import frozen

from trio_kafka.introspect.looks import Look, NodeLook, Path
from trio_kafka.introspect.tree import Figure

_LATE_S: Final = 5.0  # in a queue of a plane
_BUSY_PERCENT: Final = 90.0


@frozen
class Finding:
    """words: one sentence without its stop. node: the path of what it is about."""

    words: str
    node: str


@frozen(kw_only=True)
class Place:
    """One node of two looks."""

    path: Path
    now: NodeLook
    past: NodeLook | None
    seconds: float | None  # between the looks

    @property
    def name(self) -> str:
        """As a person calls it: its path without the root's name."""
        return "/".join(self.path[1:])

    def __getitem__(self, figure: str) -> Figure:
        return self.now.figures.get(figure)

    def number(self, figure: str) -> float:
        """A figure that is a number; 0 for any other, and where there is none."""
        return self.now.number(figure)

    def grown(self, figure: str) -> float:
        """By how much, since the look before; 0 if there is none."""
        return 0.0 if self.past is None else self.number(figure) - self.past.number(figure)


def findings(before: Look | None, after: Look) -> list[Finding]:
    """In the order of the tree."""
    found = []
    seconds = None if before is None else after.at - before.at
    for path, node in after.nodes.items():
        past = None if before is None else before.nodes.get(path)
        place = Place(path=path, now=node, past=past, seconds=seconds)
        for rule in RULES:
            words = rule(place)
            if words:
                found.append(Finding(words, "/".join(path)))
    return found


def full_channel(place: Place) -> str | None:
    bound, depth = place.number("bound"), place.number("depth")
    if place.now.kind == "channel" and 0 < bound <= depth:
        return f"{place.name} is full: {depth:.0f} of {bound:.0f}"
    return None


def late_channel(place: Place) -> str | None:
    oldest_s = place.number("oldest_s")
    if place.now.kind == "channel" and oldest_s > _LATE_S:
        return f"the oldest of {place.name} has waited for {oldest_s:.1f} s"
    return None


def spent_limiter(place: Place) -> str | None:
    tokens, waiting = place.number("tokens"), place.number("waiting")
    if place.now.kind == "limiter" and waiting and place.number("borrowed") >= tokens:
        return f"all {tokens:.0f} of {place.name} are taken, and {waiting:.0f} wait"
    return None


def failed_plugin(place: Place) -> str | None:
    if place.now.kind == "plugin" and place["state"] == "failed":
        return f"plugin {place.now.name} has failed: {place['error']}"
    return None


def failed_job(place: Place) -> str | None:
    error = place["last_error"]
    if place.now.kind == "job" and error:
        return f"the job {place.now.name} failed the last time: {error}"
    return None


def dropped(place: Place) -> str | None:
    lost = place.grown("dropped")
    if place.now.kind == "channel" and lost > 0:
        return f"{place.name} had no room for {lost:.0f}, which are lost"
    return None


def busy_loop(place: Place) -> str | None:
    if place.path[-1] != "turn" or not place.seconds or place.past is None:
        return None
    percent = 100 * place.grown("busy_s") / place.seconds
    if percent > _BUSY_PERCENT:
        return f"the loop of {place.path[-2]} hardly ever sleeps: it is busy for {percent:.0f} %"
    return None


def blocked_loop(place: Place) -> str | None:
    if place.path[-1] == "watchdog" and place.grown("blocks") > 0:
        who = place["last_plugin"] or place["last_task"]
        held_ms = place.number("last_ms")
        return f"{who} held the loop for {held_ms:.0f} ms, at {place['last_where']}"
    return None


def not_running(place: Place) -> str | None:
    if place.path[-1] == "lifecycle-manager" and place["state"] != "running":
        return f"the broker is not serving: it is {place['state']}"
    return None


_COUNTED: Final = {
    ("log-manager", "offline"): "log directories offline",
    ("replica-manager", "offline"): "partitions offline",
    ("replica-manager", "under_replicated"): "under-replicated partitions",
    ("replica-manager", "under_minimum"): "partitions with fewer than min.insync.replicas in sync",
    ("listening", "failed"): "listeners that could not be opened",
    ("group-coordinator", "failed"): "partitions of __consumer_offsets that could not be loaded",
}


def counted(place: Place) -> str | None:
    found = [
        f"{words}: {place.number(figure):.0f}"
        for (name, figure), words in _COUNTED.items()
        if place.path[1:] == (name,) and place.number(figure)
    ]
    return "; ".join(found) or None


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
    counted,
)
