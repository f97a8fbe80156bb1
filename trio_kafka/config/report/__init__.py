"""Reports on settings: descriptions, explanations, lint, comparison."""

__all__ = [
    "comparison",
    "describe",
    "explain",
    "lint",
]
