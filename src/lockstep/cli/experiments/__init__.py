"""The options and the tables of each experiment: `add_options(parser)`, which sets the handler."""
