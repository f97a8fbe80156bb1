"""How the event loop is shared: loop budget, deferred batches, chunked work, yield points."""
