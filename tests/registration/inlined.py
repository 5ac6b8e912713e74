"""Functions that are inlined into others, called from Python, which cannot call them itself."""

from numba import njit


def from_python(function):
    """A compiled function that does nothing but call `function`."""

    @njit
    def call(*args):
        return function(*args)

    return call
