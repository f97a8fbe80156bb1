"""Facts of groups as values, for those who show them: members, lag and history."""

__all__ = ["group_facts", "lag_samples", "ranking"]
