"""The command line: thin. It parses, calls the library and prints.

Commands import what they need when they run, so that ``--help`` answers at once.
"""

from dikmeans.cli.app import app

__all__ = ["app"]
