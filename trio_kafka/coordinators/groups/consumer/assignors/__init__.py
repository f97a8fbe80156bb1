"""Server-side assignors: which member reads which partition."""
