"""SASL mechanisms, without I/O: the server's side of each, and the client's.

PLAIN proves a user by name and password, SCRAM without sending the password.
"""

__all__ = [
    "client",
    "errors",
    "exchange",
    "first_users",
    "oauth_server",
    "oauthbearer",
    "plain",
    "scram",
    "scram_client",
    "scram_server",
]
