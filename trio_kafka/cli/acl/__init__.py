"""`trio-kafka acl`: who may do what. `entries` turns options into entries and filters."""
