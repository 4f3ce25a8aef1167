"""The workers of the tests of processes serve these tests too."""

from tests.processes.conftest import make_commands

__all__ = ["make_commands"]
