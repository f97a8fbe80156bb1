"""Principals, and what they may do: operations, resources and the authorizer.

Depends on no request and no part of the broker. `requests.context` asks the authorizer.
"""

__all__ = [
    "acls",
    "authorizer",
    "delegation_tokens",
    "operations",
    "principal",
    "resources",
    "sasl",
    "tls",
    "tokens",
]
