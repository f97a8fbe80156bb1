from trio_kafka.records.file_range import FileRange


class Lease:
    """A lease on nothing, which counts how often it is given back."""

    key = 3
    end = 100
    cut = False
    released = 0

    def release(self) -> None:
        self.released += 1


def test_length_of_a_file_range_is_its_number_of_bytes_left() -> None:
    part = FileRange(Lease(), 10, 90)

    part.position += 30
    part.remaining -= 30

    assert (len(part), part.position) == (60, 40)


def test_file_range_of_zero_bytes_is_true() -> None:
    assert FileRange(Lease(), 10, 0)


def test_release_of_a_file_range_releases_its_lease() -> None:
    lease = Lease()

    FileRange(lease, 0, 1).release()

    assert lease.released == 1


def test_repr_of_a_file_range_shows_position_and_bytes_left() -> None:
    assert repr(FileRange(Lease(), 1, 2)) == "FileRange(position=1, remaining=2)"
