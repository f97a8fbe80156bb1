"""All logs of a broker: their directories, loading, identity, removal and maintenance."""
