from trio_kafka.log.config import LogConfig


def test_policies_say_whether_segments_go_and_whether_keys_are_kept():
    both = LogConfig(cleanup_policy=frozenset({"compact", "delete"}))

    assert LogConfig().deletes
    assert not LogConfig().compacts
    assert both.deletes
    assert both.compacts
