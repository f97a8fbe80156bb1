"""A leader's append in pieces, between which another plane is let in: the twin of
`Log.append_as_leader`, as `append_slow` is.

Other requests are served in the middle of it, no tasks run. The log is `busy` meanwhile, so that
nobody appends, rolls or cuts; it may be closed or fail: then nothing was appended.
"""

from collections.abc import Callable, Sequence

from trio_kafka.log.append import Appended
from trio_kafka.log.disk_latency import LONG_APPEND_S
from trio_kafka.log.log import Log
from trio_kafka.records.header import BatchHeader


def append_in_pieces(
    log: Log,
    records: memoryview,
    headers: Sequence[BatchHeader],
    leader_epoch: int,
    between: Callable[[], None],
) -> Appended:
    """See `Log.append_as_leader`, and `File.append_in_pieces`.

    Raises as the first, and KafkaError(NOT_LEADER_OR_FOLLOWER) where the log was closed meanwhile.
    """
    now_ms = log.now_ms()
    appended = log.place(records, headers, leader_epoch, now_ms)
    if appended.duplicate:
        return appended
    if log.failed or log.closed or log.busy:
        log.refuse()
    pace, elapsed, apart_s = log.pace, log.pace.elapsed, 0.0

    def timed() -> None:
        nonlocal apart_s
        left = elapsed()
        between()
        apart_s += elapsed() - left

    if pace.suspect:
        pace.watch()
    began = elapsed()
    log.busy = True
    try:
        segment = log.segment_for(records, headers, now_ms)
        start = segment.append_in_pieces(records, timed)
    except OSError as error:
        log.fail(error)
    finally:
        log.busy = False
    ended = elapsed() - apart_s
    if ended - began > LONG_APPEND_S:
        pace.held_up(began, ended)
    log.take_over(segment, records, headers, start)
    return appended
