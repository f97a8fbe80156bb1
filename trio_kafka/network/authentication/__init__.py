"""Authentication: the phase of a connection before its first request."""

__all__ = ["deadlines", "failures", "phase", "sasl_authenticator", "sasl_frames"]
