"""Which bytes of a file were written recently."""

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.world.recent_writes import GRAIN, WINDOW, RecentBytes, Writes


def test_written_bytes_are_recent_and_earlier_bytes_are_not():
    recent = RecentBytes(Writes())

    recent.wrote(1000, 500)

    assert recent.holds(1000)
    assert recent.holds(1499)
    assert not recent.holds(999)


def test_bytes_become_old_by_writes_to_other_files():
    writes = Writes()
    old, new = RecentBytes(writes), RecentBytes(writes)
    old.wrote(0, 100)

    new.wrote(0, WINDOW)
    assert not old.holds(0)

    old.wrote(100, 10)
    assert not old.holds(99)
    assert old.holds(100)


def test_only_the_end_of_a_large_file_is_recent():
    recent = RecentBytes(Writes())
    for position in range(0, 2 * WINDOW, GRAIN):
        recent.wrote(position, GRAIN)

    assert not recent.holds(WINDOW - GRAIN)
    assert recent.holds(WINDOW)


def test_bytes_rewritten_after_a_truncation_are_recent():
    recent = RecentBytes(Writes())
    recent.wrote(0, 100)
    recent.cut(0)
    assert not recent.holds(0)

    recent.wrote(0, 10)

    assert recent.holds(0)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from(["write", "cut"]),
            st.integers(1, WINDOW // 3),
        ),
        max_size=40,
    )
)
def test_recent_bytes_were_written_within_the_window(steps):
    writes = Writes()
    files = [RecentBytes(writes) for _ in range(3)]
    ages = [[], [], []]  # per file: (position, size, total before), as it really is
    for number, kind, size in steps:
        age = ages[number]
        end = age[-1][0] + age[-1][1] if age else 0
        if kind == "write":
            age.append((end, size, writes.total))
            files[number].wrote(end, size)
        else:
            cut = max(end - size, 0)
            files[number].cut(cut)
            ages[number] = [(p, min(n, cut - p), total) for p, n, total in age if p < cut]

    for recent, age in zip(files, ages, strict=True):
        for position, _, total in age:
            if recent.holds(position):
                assert writes.total - total <= WINDOW + GRAIN
