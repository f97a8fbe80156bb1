import pytest

from tests.benchmarks.codec import BOUNDS, Bound, Codec, agreed, codecs, main, messages, missed

# kafka-python reads its definitions the old way when it is imported.
pytestmark = pytest.mark.filterwarnings("ignore:.* is deprecated. Use files:DeprecationWarning")

BOUND = Bound(direction="encode", than="kio", mean=5.0, each=3.5)


def timings(*kio: float) -> dict[str, dict[tuple[str, str], float]]:
    """One message for each time that kio took; ours took 2 µs."""
    return {
        f"message {n}": {("encode", "ours"): 2.0, ("encode", "kio"): took}
        for n, took in enumerate(kio)
    }


@pytest.mark.parametrize("name", messages())
def test_every_library_encodes_a_message_to_the_same_bytes_and_decodes_them(name: str) -> None:
    result = codecs(name, *messages()[name])

    assert list(result) == ["ours", "kafka-python", "kio"]
    assert all(codec.decode() is not None for codec in result.values())


def test_libraries_that_encode_different_bytes_are_refused() -> None:
    result = {
        library: Codec(lambda encoded=encoded: encoded, object)
        for library, encoded in {"ours": b"1", "kio": b"1", "kafka-python": b"2"}.items()
    }

    with pytest.raises(ValueError, match="kafka-python has other bytes"):
        agreed("FetchRequest", result)


def test_codec_bound_holds_for_the_mean_and_for_each_message() -> None:
    assert missed(timings(10.1, 10.0), BOUND) == []
    assert missed(timings(7.0, 20.0), BOUND) == []
    assert missed(timings(8.0, 12.0), BOUND) == [
        "encode against kio: 4.90 times as fast in the mean, want 5"
    ]
    assert missed(timings(6.0, 50.0), BOUND) == [
        "encode against kio: message 0 is 3.00 times as fast, want 3.5"
    ]


@pytest.mark.slow
def test_codec_table_shows_every_message_and_the_means(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--seconds", "0.001"])

    printed = capsys.readouterr().out
    assert all(printed.count(f"{name} v") >= 2 for name in messages())
    assert printed.count("geometric mean") == len({bound.direction for bound in BOUNDS})
