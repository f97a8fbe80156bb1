"""Why a broker did not start."""


class StartError(Exception):
    """The broker cannot start as it was told to; the message names the culprit."""
