"""What a user can mend."""

from __future__ import annotations


class ReproductionError(ValueError):
    """Figures cannot be made of what was given; the message says what to do."""
