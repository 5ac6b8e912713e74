# Two commands on a fresh machine: `make demo` and `make test`. Both create and reuse .venv.
python := .venv/bin/python
installed := .venv/.installed
installed_deep := .venv/.installed-deep

# the tests of a file share what they have fitted, so they stay together
side_by_side := --numprocesses 2 --dist loadfile

.PHONY: setup setup-deep browser demo test test-all bench bench-compare lint clean

setup: $(installed)

$(installed): pyproject.toml requirements/dev.txt tools/setup.sh
	tools/setup.sh
	@touch $@

# PyTorch is large, and only the deep baselines and devices need it
setup-deep: $(installed_deep)

$(installed_deep): requirements/deep.txt $(installed)
	$(python) -m pip install --quiet --disable-pip-version-check -r requirements/deep.txt
	@touch $@

# Chromium for the tests of the report; says so where it cannot be had
browser:
	@tools/browser.sh

# K-means, AI K-means and DI K-means on 5,000 real digits
demo: setup
	$(python) -m dikmeans.demo

# everything but what is marked slow
test: setup-deep browser lint
	$(python) -m pytest $(side_by_side) -m "not slow"

# with the slow ones, and with many more damaged files (tests/robustness)
test-all: setup-deep browser lint
	DIKMEANS_FUZZ=300 $(python) -m pytest

lint: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

# figures of speed; `mnist_fit.py` needs MNIST (DIKMEANS_DATA)
bench: setup-deep
	$(python) -m benchmarks.kernel
	$(python) -m benchmarks.solver
	$(python) -m benchmarks.device
	$(python) -m benchmarks.growth
	$(python) -m benchmarks.unit_costs
	$(python) -m benchmarks.out_of_memory
	$(python) -m benchmarks.dask_workers
	$(python) -m benchmarks.checkpoint
	$(python) -m benchmarks.streaming
	$(python) -m benchmarks.mnist_fit

# the working tree against a commit, side by side: make bench-compare BASE=main
bench-compare: setup
	@test -n "$(BASE)" || { echo "Say which commit to compare with: make bench-compare BASE=main"; exit 2; }
	$(python) -m benchmarks.compare_commits $(BASE)

clean:
	rm -rf .venv out build dist
