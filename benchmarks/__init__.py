"""Speed against other code. Each contender has its own process, and rounds alternate between them,
so that a slow moment of the machine affects all of them. A speed is a ratio of medians.
"""
