"""Copy as test: a trouble of a broker as lines for pytest that make it happen again."""
