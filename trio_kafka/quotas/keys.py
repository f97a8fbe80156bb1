"""Names of quotas: where they are set, and in metrics.

Source: QuotaConfig and QuotaType of Apache Kafka 4.4.0.
"""

from typing import Final

PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"

# Metrics: `type=<this>,user=…,client-id=…`.
PRODUCE: Final = "Produce"
FETCH: Final = "Fetch"
REQUEST: Final = "Request"
CONTROLLER_MUTATION: Final = "ControllerMutation"
