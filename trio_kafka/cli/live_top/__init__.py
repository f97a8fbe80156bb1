"""The live screen of `trio-kafka top`: what the admin UI's overview shows, in a terminal.

`documents` reads, `tables` and `screen` turn a reading into lines without a terminal, `view` says
what keys do, and `terminal` is the only module that knows curses.
"""
