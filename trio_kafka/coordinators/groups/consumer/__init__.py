"""Consumer groups of KIP-848: members heartbeat, the coordinator assigns and reconciles."""
