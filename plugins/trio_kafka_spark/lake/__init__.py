"""Topics to tables and back: formats of values, exactly-once commits, dead letters, replays."""
