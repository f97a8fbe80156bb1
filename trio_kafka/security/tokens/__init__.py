"""Tokens of OAUTHBEARER (JWT): their claims, signatures, and the keys of issuers."""

__all__ = ["claims", "keys", "verification"]
