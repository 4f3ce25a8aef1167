"""The command line: one file per command group, each with `register(subparsers)`."""
