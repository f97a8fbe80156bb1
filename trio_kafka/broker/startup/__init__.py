"""The start of a broker: checks, parts and planes, step by step."""
