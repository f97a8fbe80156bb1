"""Who did what: changes of the cluster, as JSON, in a topic and the log."""
