"""Side-by-side speed. Each contender lives in a process of its own; rounds alternate between them,
so that a slow moment of the machine meets all of them. A speed is a ratio of medians.
"""
