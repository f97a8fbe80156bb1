"""Files of a log: operations on them, their names, open files, checkpoints and small files."""
