"""Commands about profiles: named clusters, with settings of clients."""
