"""Coordinators: state of clients that is kept in internal topics, one writer for each partition."""
