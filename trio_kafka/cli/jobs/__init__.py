"""Commands `trio-kafka jobs`: list the periodic jobs of a broker, run one now."""

__all__ = ["list", "run"]
