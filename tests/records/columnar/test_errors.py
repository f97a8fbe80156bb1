from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.columnar.errors import corrupt_batch


def test_corrupt_batch_error_names_the_position_once() -> None:
    named = corrupt_batch(KafkaError(ErrorCode.CORRUPT_MESSAGE, "length 3 at position 70"), 70)
    unnamed = corrupt_batch(KafkaError(ErrorCode.CORRUPT_MESSAGE, "gzip block: bad"), 70)

    assert str(named) == "CORRUPT_MESSAGE: length 3 at position 70"
    assert str(unnamed) == "CORRUPT_MESSAGE: gzip block: bad; batch at position 70"
    assert named.position == unnamed.position == 70


def test_corrupt_batch_error_without_text_names_the_position() -> None:
    error = corrupt_batch(KafkaError(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT), 5)

    assert error.code is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert "batch at position 5" in str(error)
