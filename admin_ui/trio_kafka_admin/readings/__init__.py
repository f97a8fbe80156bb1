"""Readings of the broker that `BrokerReader` offers to pages: one module for each kind."""
