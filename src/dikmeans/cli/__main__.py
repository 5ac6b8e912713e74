"""``python -m dikmeans.cli`` is ``dikmeans``."""

from dikmeans.cli.app import app

app(prog_name="dikmeans")
