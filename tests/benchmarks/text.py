"""Values as people store them."""

from random import Random


def text_like_logs(size: int, random: Random) -> bytes:
    """Text that lz4 halves, as it does log lines and JSON."""
    words = [f"{random.getrandbits(32):x}" for _ in range(60)]
    out = ""
    while len(out) < size:
        out += f"{random.choice(words)} {random.getrandbits(12):x},"
    return out[:size].encode()
