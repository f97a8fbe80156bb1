"""The pages, one a file: each module here has a `PAGE`. There is no list to add it to."""
