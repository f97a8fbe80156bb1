"""Commands about a cluster: describe, health, features."""
