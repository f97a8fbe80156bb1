"""`trio-kafka user`: users of SCRAM. `passwords` reads a password without showing it."""
