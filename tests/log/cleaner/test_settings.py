import pytest

from trio_kafka.log.cleaner.settings import CleanerSettings


@pytest.mark.parametrize(
    ("threads", "rate", "own"), [(1, 100.0, 100.0), (4, 100.0, 25.0), (2, 1.8e308, None)]
)
def test_cleaner_threads_share_the_io_rate_equally(threads, rate, own):
    settings = CleanerSettings(threads=threads, io_max_bytes_per_second=rate)

    assert settings.bytes_per_second == own


def test_cleaner_threads_share_the_buffer_memory_equally():
    settings = CleanerSettings(threads=2, dedupe_buffer_bytes=100, io_buffer_bytes=100)

    assert (settings.map_bytes, settings.read_bytes) == (50, 25)


def test_read_buffer_of_a_cleaner_has_at_least_one_byte():
    assert CleanerSettings(io_buffer_bytes=0).read_bytes == 1
