import errno

import pytest

from trio_kafka.world.descriptors import RESERVE, SMALLEST, Descriptors

pytestmark = pytest.mark.leaves("it sets counts by hand")
LIMIT = 256


@pytest.fixture
def descriptors() -> Descriptors:
    return Descriptors(LIMIT)


def test_no_descriptor_is_refused_without_a_limit() -> None:
    descriptors = Descriptors()
    descriptors.files = descriptors.sockets = descriptors.others = 1 << 30

    descriptors.check_socket()
    descriptors.check_others(2)

    assert descriptors.room > 0
    assert descriptors.refused == 0


@pytest.mark.parametrize(("limit", "shared"), [(SMALLEST, 32), (100, 50), (128, 64), (2000, 1936)])
def test_descriptor_reserve_is_half_of_a_small_limit_and_fixed_for_a_large_limit(
    limit: int, shared: int
) -> None:
    assert Descriptors(limit).shared == shared


def test_connections_never_use_the_reserve_or_the_least_share_of_files(
    descriptors: Descriptors,
) -> None:
    most = LIMIT - RESERVE - descriptors.least_files
    descriptors.sockets = most - 1
    descriptors.check_socket()
    descriptors.sockets = most

    with pytest.raises(OSError, match="reserved") as caught:
        descriptors.check_socket()

    assert caught.value.errno == errno.EMFILE
    assert descriptors.refused == 1


def test_idle_files_beyond_their_share_are_closed_for_connections(
    descriptors: Descriptors,
) -> None:
    def close(count: int) -> int:
        descriptors.files -= count
        return count

    descriptors.close_idle = close
    descriptors.files = descriptors.shared

    while True:
        try:
            descriptors.check_socket()
        except OSError:
            break
        descriptors.sockets += 1

    assert descriptors.files == descriptors.least_files
    assert descriptors.sockets == descriptors.shared - descriptors.least_files


def test_connection_is_refused_when_no_file_is_idle(descriptors: Descriptors) -> None:
    descriptors.files = descriptors.shared

    with pytest.raises(OSError, match="reserved"):
        descriptors.check_socket()


def test_selectors_take_at_most_half_of_the_descriptors(descriptors: Descriptors) -> None:
    descriptors.others = descriptors.shared // 2 - 2
    descriptors.check_others(2)
    descriptors.others += 1

    with pytest.raises(OSError, match="reserved"):
        descriptors.check_others(2)


def test_new_selector_closes_idle_files_when_descriptors_are_scarce(
    descriptors: Descriptors,
) -> None:
    counts: list[int] = []

    def close(count: int) -> int:
        counts.append(count)
        descriptors.files -= count
        return count

    descriptors.close_idle = close
    descriptors.files = descriptors.shared - 1

    descriptors.check_others(2)

    assert counts == [1]
