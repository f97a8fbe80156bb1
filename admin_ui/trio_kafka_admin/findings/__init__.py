"""Findings: current problems of a broker in words, with their causes, from two moments.

A rule is a pure function of two moments; add it to `rule_list.RULES`. What comes of another
finding is folded below it, and the rest is ranked. Problems that are over stay for a while, with
begin and end.
"""
