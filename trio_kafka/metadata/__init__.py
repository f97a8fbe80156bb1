"""The immutable view of the cluster, made from committed metadata records; knows no consensus."""
