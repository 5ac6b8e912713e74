"""The command line: commands parse, call the library and print.

Commands import what they need when they run, so that ``--help`` answers at once.
"""

from dikmeans.cli.app import app

__all__ = ["app"]
