"""Classic groups: the members' leader assigns, the coordinator keeps the members in step."""

__all__ = ["group", "records", "requests", "states", "submachine", "transition", "values"]
