"""Table of the `kafka.*` options: honoured, ignored with the reason, or refused with the reason.

Holds every setting of Kafka's consumer, producer and admin client, of 3.9 as well as 4.x; a name
that is not here is an error. `docs/how-to/spark-options.md` is written from this table.
"""

from collections.abc import Mapping
from typing import Final

from trio_kafka_spark.client.options.connection import connection_options
from trio_kafka_spark.client.options.option import KafkaOption, Side, Use
from trio_kafka_spark.client.options.reading import reading_options
from trio_kafka_spark.client.options.sasl import sasl_options
from trio_kafka_spark.client.options.tls import tls_options
from trio_kafka_spark.client.options.writing import writing_options

__all__ = ["KAFKA_OPTIONS", "KafkaOption", "Side", "Use"]


_PARTS: Final = (connection_options, reading_options, writing_options, tls_options, sasl_options)


def _table() -> dict[str, KafkaOption]:
    options: dict[str, KafkaOption] = {}
    for options_of_part in _PARTS:
        for option in options_of_part():
            if option.name in options:
                raise ValueError(f"{option.name} stands in the table twice")
            options[option.name] = option
    return dict(sorted(options.items()))


KAFKA_OPTIONS: Final[Mapping[str, KafkaOption]] = _table()
