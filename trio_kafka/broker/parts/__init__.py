"""Parts of a broker that its start puts together: groups, quotas, quorum, producer ids, plugins."""
