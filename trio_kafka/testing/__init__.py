"""The kit for tests: of this project, and of what others build on it."""
