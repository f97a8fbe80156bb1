"""`trio-kafka bench`: how fast a cluster takes and gives records, from this machine.

`measurement` holds figures, `produce`, `consume` and `latency` are the commands, and `traffic` what
they run.
"""
