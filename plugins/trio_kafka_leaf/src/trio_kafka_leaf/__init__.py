"""Record batches at machine speed. `trio_kafka.records.leaf` says what the functions promise."""

INTERFACE = 3  # number of the interface; trio-kafka uses no other
