"""Reports: what a run or a comparison did, in a terminal, as figures, as one HTML page.

Nothing here starts a run or changes one. Figures need the extra "figures"; all else is text.
"""
