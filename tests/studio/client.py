"""Starlette's test client, on the HTTP library that we test with."""

import warnings

with warnings.catch_warnings():
    # it would rather have that library's successor
    warnings.simplefilter("ignore", DeprecationWarning)
    warnings.simplefilter("ignore", UserWarning)
    from starlette.testclient import TestClient

__all__ = ["TestClient"]
