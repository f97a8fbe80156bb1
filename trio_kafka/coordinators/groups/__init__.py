"""Group coordinator: members of groups, their assignments and their committed offsets."""
