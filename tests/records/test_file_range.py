from trio_kafka.records.file_range import FileRange


class Lease:
    """A lease on nothing, which counts how often it is given back."""

    key = 3
    end = 100
    cut = False
    released = 0

    def release(self) -> None:
        self.released += 1


def test_a_range_is_as_long_as_what_is_left_of_it() -> None:
    part = FileRange(Lease(), 10, 90)

    part.position += 30
    part.left -= 30

    assert (len(part), part.position) == (60, 40)


def test_a_range_of_no_bytes_is_still_a_range() -> None:
    assert FileRange(Lease(), 10, 0)


def test_release_gives_the_lease_back() -> None:
    lease = Lease()

    FileRange(lease, 0, 1).release()

    assert lease.released == 1


def test_a_range_says_where_it_is() -> None:
    assert repr(FileRange(Lease(), 1, 2)) == "FileRange(position=1, left=2)"
