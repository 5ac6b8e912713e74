"""Report, studio and browser, as their own tests have them."""

from tests.report.conftest import chromium, report
from tests.studio.conftest import fitted_run, run, start_program

__all__ = ["chromium", "fitted_run", "report", "run", "start_program"]
