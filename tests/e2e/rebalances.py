"""A group that rebalances again and again, in a process of its own: how much it does is not seen in
the interpreter of a broker that is watched.

`python -m tests.e2e.rebalances classic|consumer HOST PORT TOPIC PARTITIONS MEMBERS COUNT`
"""

import sys
from collections.abc import Sequence

from tests.benchmarks.members import KINDS, crowd, wait_for_coordinators


def main(arguments: Sequence[str]) -> None:
    kind, host, port, topic, *numbers = arguments
    partitions, members, count = map(int, numbers)
    with crowd((host, int(port)), members) as them:
        group = KINDS[kind](them, topic, partitions, members)
        wait_for_coordinators(them, [group.group], topic)
        group.form()
        for _ in range(count):
            group.rebalance()


if __name__ == "__main__":
    main(sys.argv[1:])
