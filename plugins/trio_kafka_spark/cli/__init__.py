"""The commands `trio-kafka spark` and `trio-kafka pipeline`; modules are imported when they run."""
