"""How chapters are written down: a file for each format, text in, pieces in their order out."""
