"""Groups: their members, what is assigned to them, and the offsets that they have committed."""
