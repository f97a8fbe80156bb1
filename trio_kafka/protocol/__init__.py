"""Kafka's protocol as declared tables: messages, headers, stored records and the compiler of their
codecs.
"""
