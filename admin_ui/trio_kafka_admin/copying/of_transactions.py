"""Sources of tests whose trouble is a transaction that holds back read_committed readers."""

from collections.abc import Sequence
from typing import Final

from trio_kafka_admin.copying import loads
from trio_kafka_admin.copying.literals import client, literal
from trio_kafka_admin.copying.loads import Load
from trio_kafka_admin.copying.module_parts import fault, module, topic_line
from trio_kafka_admin.copying.trouble import Trouble

_ID: Final = "payments"  # where the trouble has no transactional id
_LONGEST_OPEN_S: Final = 800  # below the default of `transaction.max.timeout.ms`
_LONGEST_END_S: Final = 20  # a client of librdkafka gives up a request after 60 s
_VERIFICATION: Final = "transaction.partition.verification.enable"
_LOAD: Final = Load("Consumer, Producer, TopicPartition", ())


def long_transaction(trouble: Trouble) -> str:
    """A transaction that stays open. The clock of the broker moves, and the test does not wait."""
    open_s = max(1, min(round(trouble.seconds), _LONGEST_OPEN_S))
    return module(
        "long_transaction",
        f"A transaction is open for {open_s} s and holds back its readers.",
        _LOAD,
        [
            topic_line(trouble),
            *_writing(trouble, timeout_ms=(open_s + 60) * 1000),
            *_reading(trouble),
            f"kafka.advance(seconds={open_s})",
            f"assert kafka.transaction({literal(_name(trouble))}).age_s >= {open_s}",
            "assert consumer.poll(1) is None",
            "producer.commit_transaction(60)",
            "assert consumer.poll(60) is not None",
            "consumer.close()",
        ],
    )


def unmarked_transaction(trouble: Trouble) -> str:
    """An end that takes as long; in the kit, whose files are in memory, no marker is refused."""
    end_s = max(0.1, min(trouble.seconds, _LONGEST_END_S))
    block = fault(api="EndTxn", transactional_id=_name(trouble), delay_s=end_s)
    return module(
        "unmarked_transaction",
        f"The end of a transaction takes {end_s:g} s, and its readers wait for it.",
        _LOAD,
        [
            topic_line(trouble),
            *_writing(trouble, timeout_ms=60_000),
            *_reading(trouble),
            "assert consumer.poll(1) is None",
            block,
            "    producer.commit_transaction(60)",
            "assert consumer.poll(60) is not None",
            "assert fault.hits",
            "consumer.close()",
        ],
    )


def hanging_transaction(trouble: Trouble) -> str:
    """A batch without the coordinator: it is not verified, and the request before it was lost."""
    topic = trouble.topic or loads.TOPIC
    return module(
        "hanging_transaction",
        "A transaction hangs: no coordinator knows it, so nothing ends it but an operator.",
        Load(f"admin, {_LOAD.imports}", ()),
        [
            "from trio_kafka.protocol.messages.k24_add_partitions_to_txn import (",
            "    AddPartitionsToTxnPartitionResult,",
            "    AddPartitionsToTxnResponse,",
            "    AddPartitionsToTxnTopicResult,",
            ")",
            "",
            topic_line(trouble),
            *client("operator", "admin.AdminClient", {}),
            "entry = admin.ConfigEntry(",
            f'    {literal(_VERIFICATION)}, "false",',
            "    incremental_operation=admin.AlterConfigOpType.SET,",
            ")",
            "[node] = operator.list_topics(timeout=60).brokers",
            'broker = admin.ConfigResource("BROKER", str(node), incremental_configs=[entry])',
            "operator.incremental_alter_configs([broker])[broker].result(60)",
            f"part = AddPartitionsToTxnPartitionResult({trouble.partition}, 0)",
            f"row = AddPartitionsToTxnTopicResult({literal(topic)}, [part])",
            "added = AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[row])",
            'with kafka.fault(api="AddPartitionsToTxn", respond=added) as fault:',
            *(f"    {line}" for line in _writing(trouble, timeout_ms=60_000)),
            "assert fault.hits",
            *_reading(trouble),
            "kafka.advance(minutes=15)",
            f"assert not kafka.transaction({literal(_name(trouble))}).partitions",
            "assert consumer.poll(1) is None",
            "consumer.close()",
        ],
    )


def _name(trouble: Trouble) -> str:
    return trouble.transactional_id or _ID


def _writing(trouble: Trouble, *, timeout_ms: int) -> Sequence[str]:
    """Return the lines that write one record in a transaction, which they leave open."""
    settings = {"transactional.id": _name(trouble), "transaction.timeout.ms": timeout_ms}
    topic = literal(trouble.topic or loads.TOPIC)
    return [
        *client("producer", "Producer", settings),
        "producer.init_transactions(60)",
        "producer.begin_transaction()",
        f'producer.produce({topic}, b"value", partition={trouble.partition})',
        "assert producer.flush(60) == 0",
    ]


def _reading(trouble: Trouble) -> Sequence[str]:
    """Return the lines that begin to read the partition, as a read_committed consumer does."""
    settings = {**loads.READER, "isolation.level": "read_committed"}
    place = f"{literal(trouble.topic or loads.TOPIC)}, {trouble.partition}, 0"
    return [
        *client("consumer", "Consumer", settings),
        f"consumer.assign([TopicPartition({place})])",
    ]
