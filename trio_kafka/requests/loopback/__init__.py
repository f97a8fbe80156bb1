"""Requests from within the broker: plugins ask through the routes of the data plane."""
