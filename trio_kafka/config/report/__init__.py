"""Reports on settings: descriptions, explanations, lint, comparison, the reference page."""

__all__ = [
    "comparison",
    "describe",
    "document",
    "explain",
    "lint",
]
