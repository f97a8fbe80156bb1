"""One partition's files, and the directories that hold them."""
