"""Commands that keep what the admin UI of a running broker shows, as files.

Importing this imports no command.
"""
