"""Reject records whose values do not fit the schema of their topic; see README.md."""
