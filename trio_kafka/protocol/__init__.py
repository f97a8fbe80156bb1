"""Kafka's protocol: declared messages, headers and stored records, and their compiled codecs.

messages/ holds one module per API key, stored/ the contents of internal topics and state files.
"""

__all__ = [
    "client_software",
    "compiler",
    "errors",
    "foreign",
    "headers",
    "json_data",
    "messages",
    "primitives",
    "schema",
    "size_check",
    "stored",
    "structs",
    "texts",
    "tree_rows",
    "versions",
]
