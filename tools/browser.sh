#!/usr/bin/env bash
# Chromium and its driver, for the tests of the report: installs them where it can (root on Debian), otherwise says what is
# missing. Never fails: without a browser all other tests are still worth running.
set -uo pipefail

have_browser() { command -v chromium >/dev/null && command -v chromedriver >/dev/null; }

have_browser && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "browser: installing chromium and chromium-driver for the tests of the report"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >/dev/null 2>&1 && apt-get install -y -qq chromium chromium-driver >/dev/null 2>&1
fi
have_browser || echo "browser: NO CHROMIUM HERE, so the browser tests of the report WILL NOT RUN. Get it with: apt-get install chromium chromium-driver (as root, on Debian)." >&2
