"""The pages, one per file: each module has a `PAGE`. No list names them."""
