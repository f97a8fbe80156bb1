"""What is said about settings: descriptions, explanations, lint, comparison, the reference page."""
