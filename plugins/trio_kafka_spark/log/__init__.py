"""`format("trio-kafka-log")`: topics read from log directories, without a broker.

`directories` finds partitions and segments, `splits` divides them into pieces, `windows` reads a
piece by pread, `rows` turns windows into Arrow; `reader` is what Spark calls. The directories may
belong to a running broker: segments grow, roll and vanish while they are read.
"""
