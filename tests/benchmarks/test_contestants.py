import attrs
import pytest

from tests.benchmarks.contestants import CONTESTANTS, WRITING, Job, confluent_produce

JOB = Job(client="", way="", bootstrap="", topic="", codec="lz4", size=20, count=30)


@pytest.mark.slow
def test_each_way_of_our_client_measures_what_it_writes_or_reads(kafka):
    for number, ((client, way), contestant) in enumerate(CONTESTANTS.items()):
        if client != "trio-kafka" or way == "idle":
            continue  # they take seconds, and are run by hand
        topic = f"t{number}"
        kafka.create_topic(topic)
        job = attrs.evolve(JOB, client=client, way=way, bootstrap=kafka.bootstrap, topic=topic)
        if way not in WRITING:
            confluent_produce(job)

        cost = contestant(job)

        assert cost.rate > 0
        assert cost.cpu_us > 0
        if way in WRITING:
            assert len(kafka.records(topic)) == JOB.count + 1
