"""The landing page's picture: the way of a request through the broker, stage by stage."""
