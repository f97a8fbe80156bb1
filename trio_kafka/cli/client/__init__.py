"""Commands about the clients of a broker."""
