"""How much clients may use, and how long they must wait when they used more: sums, no I/O."""
