"""The network plane: moves frames between sockets and handlers, and knows nothing of what they
say.
"""
