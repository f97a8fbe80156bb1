"""Recovery of one partition: segments are verified, damage is reported, indexes are rebuilt."""
