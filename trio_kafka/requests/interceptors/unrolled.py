"""A link of `before`s and `after`s as one function, made for it: no loop, and no frames between.

Ten interceptors that do nothing are ten calls of a fortieth of a microsecond; what is around the
calls cost four times that. So a function is written for each link, and whatever is not the common
way (an answer, an error, what was delayed) is the link's own matter.

Each interceptor of a side of several is timed in one of `EVERY` requests, which stands for all of
them; of a side of one, or with a deadline to keep, in each. Calls are counted, all of them.
"""

import linecache
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

from trio_kafka.attributes import frozen
from trio_kafka.requests.interceptors.registry import Interception, Rounds
from trio_kafka.requests.large_requests import LAZY

EVERY: Final = 16
_CALL: Final = re.compile(r"^ +\w+ = (?:before|after)_(\d+)\(").match


@frozen
class Raised:
    """Stands for what a function has given: it has raised this."""

    error: BaseException


class Ways(Protocol):
    """What a link does itself: see `requests.interceptors.before_after`.

    at: which of a side has ended the common way. began: when its side did; now: when it did, None
    if nobody knows, and those before it are not counted yet.
    """

    def entered(
        self, at: int, message: Any, context: Any, *, began: float, now: float | None, answer: Any
    ) -> Any:
        """A `before` has answered, or raised."""

    def say(self, message: Any, context: Any, error: Exception) -> Any:
        """The error of what is further in as an answer."""

    def leave(self, message: Any, context: Any, answer: Any, lazy: int) -> Any:
        """What is further in gave something else than a message that is ready."""

    def shown(
        self,
        at: int,
        message: Any,
        context: Any,
        *,
        began: float,
        now: float | None,
        answer: Any,
        made: Any,
    ) -> Any:
        """An `after` has given something in the place of the answer, or raised."""

    def note_slow(self, one: Interception, spent: float) -> None:
        """A call took longer than its `alarm_s`."""


def unrolled(
    ways: Ways,
    inner: Callable[..., Any],
    befores: Sequence[Interception],
    afters: Sequence[Interception],
    *,
    response: type[Any],
    elapsed: Callable[[], float],
    place: object,
    waits: bool,
) -> Callable[[Any, Any], Any]:
    """What stands in the place of `inner`; async if that `waits`.

    befores: outermost first; afters: innermost first. place: of the route, for counts.
    """
    sides = _Side(befores, place), _Side(afters, place)
    given = {
        "ways": ways,
        "inner": inner,
        "Response": response,
        "LAZY": LAZY,
        "Raised": Raised,
        "elapsed": elapsed,
        **{f"before_{n}": one.function for n, one in enumerate(befores)},
        **{f"after_{n}": one.function for n, one in enumerate(afters)},
        **{f"before_{n}_one": one for n, one in enumerate(befores)},
        **{f"after_{n}_one": one for n, one in enumerate(afters)},
        "before_rounds": sides[0].rounds,
        "after_rounds": sides[1].rounds,
    }
    every, some = (_compiled(given, *sides, waits=waits, sampled=on) for on in (True, False))
    if not any(side.sampled for side in sides):
        return every(None)
    return some(every(None))


class _Side:
    """The `before`s or the `after`s of a link."""

    def __init__(self, ones: Sequence[Interception], place: object) -> None:
        self.count = len(ones)
        self.sampled = len(ones) > 1 and all(one.deadline_s is None for one in ones)
        self.rounds = Rounds()
        if self.sampled:
            for one in ones:
                one.join(place, self.rounds)


def _compiled(
    given: dict[str, Any], befores: _Side, afters: _Side, *, waits: bool, sampled: bool
) -> Callable[[Any], Callable[[Any, Any], Any]]:
    """sampled: each is timed; else those that need it, and now and then a round is the other's."""
    lines = list(_function(befores, afters, waits=waits, timed=sampled))
    shape = f"{befores.count}{befores.sampled:d} {afters.count}{afters.sampled:d}"
    name = f"<interceptors {shape} {waits:d}{sampled:d}>"
    source = "\n".join(lines) + "\n"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    # Which call stands in a line: who has raised is known by it.
    calls = {line: int(found[1]) for line, text in enumerate(lines, 1) if (found := _CALL(text))}
    names = {**given, "calls": calls}
    exec(compile(source, name, "exec"), names)  # noqa: S102 - of our own words
    made: Callable[[Any], Callable[[Any, Any], Any]] = names["make"]
    return made


def _function(befores: _Side, afters: _Side, *, waits: bool, timed: bool) -> Iterator[str]:
    a, w = ("async ", "await ") if waits else ("", "")
    samples = not timed and (befores.sampled or afters.sampled)
    # As arguments they are cells of the function that is made: nothing is looked up in a module.
    yield "def make(timed, elapsed=elapsed, inner=inner, Response=Response,"
    yield "    LAZY=LAZY, Raised=Raised, calls=calls,"
    yield "    entered=ways.entered, shown=ways.shown, say=ways.say, leave=ways.leave,"
    yield "    note_slow=ways.note_slow, before_rounds=before_rounds, after_rounds=after_rounds,"
    for kind, side in (("before", befores), ("after", afters)):
        for n in range(side.count):
            yield f"    {kind}_{n}={kind}_{n}, {kind}_{n}_one={kind}_{n}_one,"
    yield "):"
    if samples:
        yield f"    left = {EVERY}"
    yield f"    {a}def serve(message, context):"
    if samples:
        yield "        nonlocal left"
        yield "        left -= 1"
        yield "        if not left:"
        yield f"            left = {EVERY}"
        yield f"            return {w}timed(message, context)"
    yield "        stamps = context.request.stamps"
    if befores.count:
        yield from _calls("before", "message, context", "answer", "entered", befores, timed=timed)
    if not afters.count:
        yield f"        return {w}inner(message, context)"
    else:
        yield "        lazy = LAZY.made"
        yield "        try:"
        yield f"            answer = {w}inner(message, context)"
        yield "        except Exception as error:"
        yield "            answer = say(message, context, error)"
        yield "        if type(answer) is not Response or LAZY.made != lazy:"
        yield "            return leave(message, context, answer, lazy)"
        yield from _calls("after", "message, answer, context", "made", "shown", afters, timed=timed)
        yield "        return answer"
    yield "    return serve"


def _calls(
    kind: str, seen: str, given: str, ended: str, side: _Side, *, timed: bool
) -> Iterator[str]:
    """One call after the other, until one gives something."""
    timed = timed or not side.sampled
    told = f"message, context, began=began, now={'now' if timed else None}"
    if kind == "after":
        told += ", answer=answer"
    yield f"        began = {'now = ' if timed else ''}elapsed()"
    # One block for all: what is not on the common way would else lie between the calls.
    yield "        try:"
    for n in range(side.count):
        yield f"            {given} = {kind}_{n}({seen})"
        yield f"            if {given} is not None or stamps.answered:"
        yield f"                return {ended}({n}, {told}, {given}={given})"
        if timed:
            one, weight = f"{kind}_{n}_one", f" * {EVERY}" if side.sampled else ""
            yield "            then = elapsed()"
            yield "            spent = then - now"
            yield "            now = then"
            yield f"            {one}.counted += 1"
            yield f"            {one}.seconds += spent{weight}"
            yield f"            if spent > {one}.alarm_s:"
            yield f"                note_slow({one}, spent)"
    yield "        except BaseException as error:"
    yield "            at = calls.get(error.__traceback__.tb_lineno)"
    yield "            if at is None:"
    yield "                raise"
    yield f"            return {ended}(at, {told}, {given}=Raised(error))"
    if timed:
        yield "        stamps.plugin_s += now - began"
    else:
        yield "        stamps.plugin_s += elapsed() - began"
        yield f"        {kind}_rounds.count += 1"
