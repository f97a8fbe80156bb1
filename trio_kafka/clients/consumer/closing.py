"""Closing of a consumer, which ends within its deadline in any state of broker and group."""

from typing import Final, TypeVar

import trio

from trio_kafka.clients.consumer.consumer import Consumer

K = TypeVar("K")
V = TypeVar("V")
_UNCLEAN_S: Final = 3.0


async def close_consumer(consumer: Consumer[K, V], *, timeout_s: float, is_clean: bool) -> None:
    """Commit, call the hooks, leave the group and close the fetch sessions.

    timeout_s: for all of this; what is not done then is left to the broker's time-outs.
    is_clean: False: only leave and close. Raises what a hook raises.
    Shielded: a cancelled block leaves its group too, so that others need not wait for the session.
    """
    failure: Exception | None = None
    limit_s = timeout_s if is_clean else min(timeout_s, _UNCLEAN_S)
    turns, group = consumer.turns, consumer.group
    with trio.CancelScope(deadline=trio.current_time() + limit_s, shield=True):
        turns.reader.flush()
        if group is not None and is_clean:
            if group.is_subscribed:
                failure = await group.rebalance.revoke(group.rebalance.owned)
            elif group.commits_by_itself:
                await group.commit_revoked(list(consumer.positions.states), limit_s)
        turns.close()
        if group is not None and group.is_subscribed:
            await group.membership.leave()
        await consumer.fetcher.close_sessions()
    turns.close()
    if failure is not None:
        raise failure
