"""The bytes of a connection, sans-IO: frames, heads and answers. No trio and no clock in here."""
