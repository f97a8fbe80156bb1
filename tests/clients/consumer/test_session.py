"""Fetch sessions: a model of the broker's side must always know the rows that are wanted."""

from random import Random

from trio_kafka.clients.consumer.session import BY_NAME, NO_SESSION, FetchRow, FetchSession
from trio_kafka.errors import ErrorCode
from trio_kafka.model import ZERO_TOPIC_ID, TopicPartition
from trio_kafka.protocol.messages.k01_fetch import FetchRequest

IDS = [bytes([n]) * 16 for n in range(1, 4)]


class BrokerSession:
    """Rows of a session as a broker keeps them."""

    def __init__(self) -> None:
        self.rows: dict[tuple[bytes, int], int] = {}

    def take(self, request: FetchRequest) -> None:
        if request.session_epoch == 0:
            self.rows.clear()
        for forgotten in request.forgotten_topics_data:
            for number in forgotten.partitions:
                del self.rows[forgotten.topic_id, number]
        for topic in request.topics:
            for row in topic.partitions:
                self.rows[topic.topic_id, row.partition] = row.fetch_offset


def test_broker_knows_the_rows_after_any_changes_and_failures(seeds):
    for seed in seeds(100, 2000):
        chance = Random(seed)
        session, broker = FetchSession(), BrokerSession()
        for _ in range(60):
            for _ in range(chance.randrange(4)):
                at = TopicPartition("t", chance.randrange(5))
                row = None
                if chance.random() < 0.7:
                    row = FetchRow(chance.choice(IDS), chance.randrange(9), 0, 100)
                if row is not None or at in session.rows:
                    session.set(at, row)
            request, _ = session.request(FetchRequest())
            reached = chance.random() < 0.8
            if reached:
                broker.take(request)
                expected = {
                    (row.topic_id, at.partition): row.offset for at, row in session.rows.items()
                }
                assert broker.rows == expected
            if reached and chance.random() < 0.8:
                session.succeeded(7)
            else:
                session.failed(chance.choice([None, ErrorCode.FETCH_SESSION_ID_NOT_FOUND]))


def test_request_without_changes_names_nothing():
    session = FetchSession()
    session.set(TopicPartition("t", 0), FetchRow(IDS[0], 5, 0, 100))
    session.request(FetchRequest())
    session.succeeded(7)

    request, _ = session.request(FetchRequest())

    assert (request.session_id, request.session_epoch) == (7, 1)
    assert (request.topics, request.forgotten_topics_data) == ([], [])
    assert session.close_request().session_epoch == -1
    assert session.session_id == NO_SESSION


def test_topic_without_an_id_begins_a_session_by_name_and_its_end_another_by_id():
    session = FetchSession()
    session.set(TopicPartition("t", 0), FetchRow(IDS[0], 5, 0, 100))
    session.request(FetchRequest())
    session.succeeded(7)

    old = TopicPartition("old", 0)
    session.set(old, FetchRow(ZERO_TOPIC_ID, 1, 0, 100))
    request, at_most = session.request(FetchRequest())
    session.succeeded(8)
    assert (request.session_epoch, at_most) == (0, BY_NAME)
    assert {topic.topic for topic in request.topics} == {"t", "old"}

    session.set(old, None)
    request, at_most = session.request(FetchRequest())
    assert (request.session_epoch, at_most) == (0, None)
    assert [topic.topic_id for topic in request.topics] == [IDS[0]]
