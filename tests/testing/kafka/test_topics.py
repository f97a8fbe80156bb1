"""Topics are created, deleted and described."""


def test_a_topic_is_created_when_it_is_produced_to(kafka):
    kafka.produce("new", b"a")
    assert kafka.topics() == ["new", "orders"]
    assert kafka.topic("new").offsets == {0: (0, 1)}
    kafka.delete_topic("new")
    assert kafka.topics() == ["orders"]


def test_records_before_an_offset_are_deleted(kafka):
    kafka.produce("new", b"a", b"b", b"c")

    assert kafka.delete_records("new", before=2) == {0: 2}
    assert [one.value for one in kafka.records("new")] == [b"c"]

    assert kafka.delete_records("new", partition=0) == {0: 3}
    assert kafka.records("new") == []
    kafka.delete_topic("new")
