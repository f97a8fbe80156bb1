"""Data loss as an error or as a warning."""

import pytest

from trio_kafka.model import TopicPartition
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.source.loss import CHANGED, LossPolicy


def test_data_loss_fails_with_the_connector_s_condition_and_names_the_option() -> None:
    with pytest.raises(SourceError, match="failOnDataLoss=false") as caught:
        LossPolicy(fails=True).report(CHANGED, "the end of t-0 went back from 5 to 3")

    assert str(caught.value).startswith("[KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED] the end of t-0")


def test_allowed_data_loss_is_logged_as_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    LossPolicy(fails=False).not_read(TopicPartition("t", 0), start=3, stop=9, held="offsets 5 to 8")

    assert "offsets [3, 9) of t-0 cannot be read: the partition has offsets 5 to 8" in caplog.text
