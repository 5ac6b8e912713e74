#!/usr/bin/env bash
# Creates .venv and installs the package with everything the tests, the demo and the linters need.
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"

command -v "$python" >/dev/null || { echo "setup: no '$python' on the PATH; Python 3.11 or newer is needed." >&2; exit 1; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "setup: $("$python" --version) is too old; Python 3.11 or newer is needed (set PYTHON=...)." >&2
  exit 1
}
if [ ! -x .venv/bin/pip ]; then
  rm -rf .venv
  if ! "$python" -m venv .venv 2>/dev/null; then
    # Debian keeps venv in a package of its own
    rm -rf .venv
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null
      "$python" -m venv .venv
    else
      echo "setup: '$python -m venv' does not work; install it first (Debian: apt-get install python3-venv)." >&2
      exit 1
    fi
  fi
fi
.venv/bin/pip install --quiet --disable-pip-version-check -r requirements/dev.txt
.venv/bin/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
