"""Tokens of OAUTHBEARER (JWT): claims, signatures, keys of issuers; sources of a client's token."""

__all__ = [
    "bearer",
    "claims",
    "keys",
    "login",
    "renewal",
    "sources",
    "unsecured",
    "verification",
]
