"""Requests that name many things: what a handler does for each, in slices of the loop.

`rows` makes a response row by row, `for_each` does something with each item. Both work at once if
there are few items, and return `Work` if there are many. A handler never pauses by itself.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from functools import partial
from typing import Any, Final, Generic, NoReturn, TypeVar, cast

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError
from trio_kafka.joint_wait import Place, joined
from trio_kafka.pending import Eventual, Work, flattened
from trio_kafka.purgatory import Delayed
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.scheduling.loop_budget import in_steps

G = TypeVar("G")
R = TypeVar("R")
A = TypeVar("A")
H = TypeVar("H")
T = TypeVar("T")
MANY: Final = 100  # rows, each of which takes 10 µs
_A_SLICE: Final = 10  # rows between two looks at the clock


def _raise(group: object, row: object, error: KafkaError) -> NoReturn:
    """Fail the whole request."""
    del group, row
    raise error


def rows(
    groups: Sequence[G],
    rows_of: Callable[[G], Sequence[R]],
    each: Callable[[G, R], Eventual[A]],
    answer: Callable[[list[H]], Eventual[T]],
    *,
    group: Callable[[G, list[A]], H],
    refused: Callable[[G, R, KafkaError], A] = _raise,
    permission: Callable[[G], object] | None = None,
    check: Callable[[G, R], object] | None = None,
) -> Eventual[T]:
    """Return the response that `answer` makes of all groups, such as topics with partitions.

    rows_of: returns the rows of a group. each: returns the answer of one row; or a Pending of it,
    which the response waits for.
    permission: called once for each group, before its rows. A KafkaError that it raises, or `each`,
    or the Pending of a row, becomes the answer that `refused` returns; without that it fails the
    request.
    check: called for all rows before anything else. A KafkaError that it raises fails the request.
    group: returns the answer of a group. It gets the list of its rows, in the order of the request,
    and keeps it: those that are waited for are put in later.
    """
    answers: list[H] = []
    waits: list[Place[A]] = []
    is_long = len(groups) > MANY or sum(map(len, map(rows_of, groups))) > MANY
    slice_rows = _A_SLICE if is_long else 2 * MANY + 1
    steps = _Rows(rows_of, each, group, refused, permission, check).answer(
        groups, slice_rows, answers, waits
    )
    if is_long:
        return Work(_then_wait(steps, waits)).then(lambda _: answer(answers))
    for _ in steps:  # a row that is Work has paused: the rest is Work, too
        return Work(_then_wait(steps, waits)).then(lambda _: answer(answers))
    return joined(waits).then(lambda _: answer(answers)) if waits else answer(answers)


@define  # as `Pairs`
class _Rows(Generic[G, R, A, H]):
    """Callables of `rows`, see there."""

    rows_of: Callable[[G], Sequence[R]]
    each: Callable[[G, R], Eventual[A]]
    group: Callable[[G, list[A]], H]
    refused: Callable[[G, R, KafkaError], A]
    permission: Callable[[G], object] | None
    check: Callable[[G, R], object] | None

    def answer(
        self, groups: Sequence[G], slice_rows: int, answers: list[H], waits: list[Place[A]]
    ) -> Steps[None]:
        """Append the answers of the groups to `answers`, and places of rows to come to `waits`.

        Pauses after `slice_rows` rows and groups, and in rows that are Work.
        """
        rows_of, each, permission, refused = self.rows_of, self.each, self.permission, self.refused
        if self.check is not None:
            yield from _check_rows(groups, rows_of, self.check, slice_rows)
        done = 0
        for members in groups:
            row_answers: list[Any] = []
            denial = None
            if permission is not None:
                try:
                    permission(members)
                except KafkaError as error:
                    denial = error.as_value()
            for row in rows_of(members):
                done += 1
                if not done % slice_rows:
                    yield
                if denial is not None:
                    row_answers.append(refused(members, row, denial))
                    continue
                try:
                    value: Any = each(members, row)
                    if type(value) is Work:
                        value = yield from flattened(value.steps)
                except KafkaError as error:
                    value = refused(members, row, error.as_value())
                if type(value) is Delayed:
                    refuse = partial(refused, members, row)
                    waits.append(Place(row_answers, len(row_answers), value, refuse))
                row_answers.append(value)
            done += 1
            if not done % slice_rows:
                yield
            answers.append(self.group(members, row_answers))


def _check_rows(
    groups: Sequence[G],
    rows_of: Callable[[G], Sequence[R]],
    check: Callable[[G, R], object],
    slice_rows: int,
) -> Steps[None]:
    """Call `check` for all rows; pause after `slice_rows`."""
    for number, pair in enumerate(Pairs(groups, rows_of), 1):
        check(*pair)
        if not number % slice_rows:
            yield


def _then_wait(steps: Steps[None], waits: list[Place[A]]) -> Steps[Eventual[object]]:
    """Take steps, then return what is to be waited for."""
    yield from steps
    return joined(waits) if waits else None


def _exceeds(limit: int, groups: Iterable[G], rows_of: Callable[[G], Sequence[R]]) -> bool:
    """Return whether there are more groups and rows. Counts no further than that."""
    count = 0
    for members in groups:
        count += 1 + len(rows_of(members))
        if count > limit:
            return True
    return False


def _nothing() -> None:
    """Discard nothing."""


def for_each(
    items: Iterable[R],
    each: Callable[[R], object],
    finish: Callable[[], Eventual[T]],
    *,
    discard: Callable[[], object] = _nothing,
    at_once: int = MANY,
) -> Eventual[T]:
    """Call `each` with every item; return what `finish` returns.

    discard: called if that fails, or the client disconnects before the end.
    at_once: number of items that take no more than a millisecond.
    """
    if _is_long(items, at_once):
        return Work(_visiting(items, each, finish, discard))
    try:
        for item in items:
            each(item)
        return finish()
    except BaseException:
        discard()
        raise


async def visit(items: Iterable[R], each: Callable[[R], object]) -> None:
    """Call `each` with every item, for async handlers; other tasks run in between."""
    await in_steps(_visiting(items, each, _nothing, _nothing))


def _is_long(items: Iterable[object], at_once: int) -> bool:
    if isinstance(items, Pairs):
        return items.exceeds(at_once)
    try:
        return len(cast("Sized", items)) > at_once
    except TypeError:  # of unknown length
        return True


def _visiting(
    items: Iterable[R],
    each: Callable[[R], object],
    finish: Callable[[], Eventual[T]],
    discard: Callable[[], object],
) -> Steps[Eventual[T]]:
    try:
        for number, item in enumerate(items, 1):
            each(item)
            if not number % _A_SLICE:
                yield
        return finish()
    except BaseException:  # GeneratorExit too: the client may disconnect between two slices
        discard()
        raise


@define  # not frozen, which would make it three times as dear
class Pairs(Generic[G, R]):
    """Pairs of a group and one of its rows, for `for_each`."""

    _groups: Iterable[G]
    _rows_of: Callable[[G], Sequence[R]]

    def exceeds(self, limit: int) -> bool:
        """Return whether there are more groups and rows."""
        return _exceeds(limit, self._groups, self._rows_of)

    def __iter__(self) -> Iterator[tuple[G, R]]:
        for members in self._groups:
            for row in self._rows_of(members):
                yield members, row
