"""Client quotas on requests: charging of routes and throttled connections."""
