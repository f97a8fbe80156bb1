"""Topics are created, deleted and described."""


def test_a_topic_is_created_when_it_is_produced_to(kafka):
    kafka.produce("new", b"a")
    assert kafka.topics() == ["new", "orders"]
    assert kafka.topic("new").offsets == {0: (0, 1)}
    kafka.delete_topic("new")
    assert kafka.topics() == ["orders"]
