"""Commands about topics: list, create, describe, alter, grow, delete, trim, offsets."""
