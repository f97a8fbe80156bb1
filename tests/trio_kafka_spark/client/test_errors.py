import pickle

import pytest

from trio_kafka.model import TopicPartition
from trio_kafka_spark.client.errors import (
    DATA_LOSS,
    AuthenticationError,
    OffsetOutOfRangeError,
    OptionError,
    SourceError,
    UnknownTopicError,
)

TP = TopicPartition("orders", 3)


def test_a_source_error_begins_with_its_condition() -> None:
    assert str(SourceError(DATA_LOSS, "records are gone")) == "[KAFKA_DATA_LOSS] records are gone"
    assert str(AuthenticationError("no")).startswith("[KAFKA_AUTHENTICATION_FAILED] ")
    assert str(UnknownTopicError("orders", "no such topic")).startswith("[KAFKA_UNKNOWN_TOPIC] ")


def test_an_option_error_begins_with_the_option() -> None:
    assert str(OptionError("kafka.acks", "want all")) == "option kafka.acks: want all"


def test_an_offset_out_of_range_error_names_the_valid_range() -> None:
    error = OffsetOutOfRangeError(TP, 7, 10, 20)

    assert "offset 7 of orders-3 is out of range" in str(error)
    assert "offsets 10 to 20" in str(error)


@pytest.mark.parametrize(
    "error",
    [
        OptionError("kafka.acks", "want all"),
        SourceError(DATA_LOSS, "gone"),
        UnknownTopicError("orders", "gone"),
        OffsetOutOfRangeError(TP, 7, 10, 20),
        AuthenticationError("wrong"),
    ],
)
def test_errors_survive_pickling(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))

    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
