"""A framework outside the package, which is NumPy under another name."""

IMPORTS = "numpy"
LAYERS = ""
