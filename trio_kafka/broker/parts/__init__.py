"""Parts of a node, one file for each; `trio_kafka.broker.roles` lists them in order."""
