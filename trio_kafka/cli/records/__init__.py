"""Records as texts: encodings of keys and values, JSON lines, formats, times, escapes."""
