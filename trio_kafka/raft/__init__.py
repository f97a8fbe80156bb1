"""KRaft: the replicated log of metadata records, as a pure machine with a thin shell."""
