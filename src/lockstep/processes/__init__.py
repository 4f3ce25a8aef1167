"""Processes that work together: starting, following and ending them; which one this is; sums
over them; splitting a batch. Nothing here knows a framework or what is trained."""
