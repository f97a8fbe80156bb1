"""An operation: a plan as a method of both clients, awaited on Trio, blocking without it."""

from collections.abc import Awaitable, Callable
from typing import Generic, ParamSpec, Protocol, TypeVar, overload

from trio_kafka.clients.admin.calls.call import Plan
from trio_kafka.clients.admin.calls.deferred import DeferredPlan

P = ParamSpec("P")
T = TypeVar("T")


class AwaitedRunner(Protocol):
    """Client that runs plans in a Trio task."""

    async def run(self, plan: Plan[T]) -> T: ...


class BlockingRunner(Protocol):
    """Client that runs plans in the calling thread."""

    def run(self, plan: Plan[T]) -> T: ...


class Operation(Generic[P, T]):
    """Method that runs a plan, with the plan's own parameters; of the class, it is the plan."""

    def __init__(self, plan: Callable[P, Plan[T]]) -> None:
        self.plan = plan

    @overload
    def __get__(self, admin: None, owner: type[object]) -> Callable[P, Plan[T]]: ...

    @overload
    def __get__(self, admin: AwaitedRunner, owner: type[object]) -> Callable[P, Awaitable[T]]: ...

    @overload
    def __get__(self, admin: BlockingRunner, owner: type[object]) -> Callable[P, T]: ...

    def __get__(
        self, admin: AwaitedRunner | BlockingRunner | None, owner: type[object]
    ) -> Callable[P, object]:
        if admin is None:
            return self.plan.resolve() if isinstance(self.plan, DeferredPlan) else self.plan
        runner, plan = admin, self.plan

        def run(*args: P.args, **kwargs: P.kwargs) -> object:
            return runner.run(plan(*args, **kwargs))

        return run
