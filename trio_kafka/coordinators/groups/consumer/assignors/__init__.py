"""Server-side assignors: who shall read which partition."""
