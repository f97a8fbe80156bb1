"""Records of group coordinators (topic `__consumer_offsets`), by the kind of group.

The record's type, an int16, goes before the key; the version, an int16, before the value; a null
value is a tombstone.
"""
