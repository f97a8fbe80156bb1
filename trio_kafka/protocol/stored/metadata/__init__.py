"""The records of the cluster's metadata log, by subject, and the frame they stand in."""
