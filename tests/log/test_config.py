from trio_kafka.log.config import LogConfig


def test_cleanup_policy_defines_whether_a_log_deletes_and_compacts():
    both = LogConfig(cleanup_policy=frozenset({"compact", "delete"}))

    assert LogConfig().deletes
    assert not LogConfig().compacts
    assert both.deletes
    assert both.compacts
