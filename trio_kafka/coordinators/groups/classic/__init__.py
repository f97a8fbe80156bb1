"""Classic groups: the members themselves hand out the work, the coordinator keeps them together."""
