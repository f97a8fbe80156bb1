"""Results of a call about several items: a value or an error for each."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from trio_kafka.clients.errors import ClientError

K = TypeVar("K")
R = TypeVar("R")
S = TypeVar("S")


class Results(Mapping[K, R]):
    """Values and errors by item. An item that has failed raises its error when it is looked up.

        results = await admin.delete_topics(["a", "b"])
        results.all()       # every value; raises the first error
        results["a"]        # the value; raises the error of this item
        results.values_by_item, results.errors   # partial success

    values_by_item: items that have succeeded. errors: those that have not.
    """

    def __init__(self, values: Mapping[K, R], errors: Mapping[K, ClientError]) -> None:
        self.values_by_item = dict(values)
        self.errors = dict(errors)

    def __getitem__(self, item: K) -> R:
        error = self.errors.get(item)
        if error is not None:
            raise error.again()
        return self.values_by_item[item]

    def __contains__(self, item: object) -> bool:
        return item in self.values_by_item or item in self.errors

    def __iter__(self) -> Iterator[K]:
        yield from self.values_by_item
        yield from self.errors

    def __len__(self) -> int:
        return len(self.values_by_item) + len(self.errors)

    def __repr__(self) -> str:
        return f"Results({self.values_by_item!r}, errors={self.errors!r})"

    def all(self) -> dict[K, R]:
        """Return the values of all items. Raises the first error if there is one."""
        for error in self.errors.values():
            raise error.again()
        return dict(self.values_by_item)

    def transform(self, change: Callable[[R], S]) -> "Results[K, S]":
        """Return results with other values, and the same errors."""
        values = {item: change(value) for item, value in self.values_by_item.items()}
        return Results(values, self.errors)
