"""The names that the book's chapters take from the package d2l, in each framework.

Importing this room imports no framework; each framework's names are in the module of its name.
"""
