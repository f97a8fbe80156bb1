"""Records of group coordinators (topic `__consumer_offsets`), by kind of group.

An int16 type precedes the key, an int16 version the value; a null value is a tombstone.
"""

__all__ = ["classic", "consumer", "share", "streams"]
