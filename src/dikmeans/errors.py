"""Errors that callers may want to tell apart; each carries its facts as fields.

Every class also derives from the built-in exception a caller would guess (`ValueError`, `OSError`,
`ImportError`), so nobody has to know this module to catch one. The message is written for readers
of Python; the command line phrases its own from the fields.
"""

from __future__ import annotations


class DikmeansError(Exception):
    """Base of the errors that this package defines."""


class MissingExtraError(DikmeansError, ImportError):
    """An optional library is not installed.

    Attributes
    ----------
    library : str
        Name of the library.
    extra : str
        Extra of this package that installs it.
    purpose : str
        What needs it; begins a sentence.
    """

    def __init__(self, library: str, extra: str, purpose: str):
        self.library, self.extra, self.purpose = library, extra, purpose
        super().__init__(
            f"{purpose} needs the library '{library}', which is not installed. "
            f"Install it with: pip install 'dikmeans[{extra}]'",
            name=library,
        )
