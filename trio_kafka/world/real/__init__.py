"""The world of a Linux machine: epoll, threads for what waits, processes for CPU work."""

from trio_kafka.world.real.world import RealWorld

__all__ = ["RealWorld"]
