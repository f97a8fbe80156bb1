"""Classic groups: the members' leader assigns, the coordinator keeps the members in step."""
