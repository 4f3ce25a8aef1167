"""One adapter per framework, and the contract they keep (`protocol.py`)."""
