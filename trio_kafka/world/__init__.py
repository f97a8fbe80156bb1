"""The only door to sockets, files, threads, processes, wall time and chance."""
