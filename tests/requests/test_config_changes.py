"""Answers of AlterConfigs and IncrementalAlterConfigs; tests/apis has them over the protocol."""

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.messages import k33_alter_configs as k33
from trio_kafka.protocol.messages import k44_incremental_alter_configs as k44
from trio_kafka.requests.config_changes import result_rows


def test_each_resource_has_a_row_with_its_own_error() -> None:
    resources = [k33.AlterConfigsResource(2, "a"), k33.AlterConfigsResource(4, "1")]
    error = KafkaError(ErrorCode.INVALID_CONFIG, "bad")

    whole = result_rows(k33.AlterConfigsResourceResponse, resources, [None, error])
    single = result_rows(k44.AlterConfigsResourceResponse, resources, [None, error])

    assert whole == [
        k33.AlterConfigsResourceResponse(0, None, 2, "a"),
        k33.AlterConfigsResourceResponse(ErrorCode.INVALID_CONFIG, "bad", 4, "1"),
    ]
    assert single == [
        k44.AlterConfigsResourceResponse(0, None, 2, "a"),
        k44.AlterConfigsResourceResponse(ErrorCode.INVALID_CONFIG, "bad", 4, "1"),
    ]
