# Two commands on a fresh machine: `make demo` and `make test`. Both create and reuse .venv.
python := .venv/bin/python
installed := .venv/.installed

.PHONY: setup demo test test-all bench lint clean

setup: $(installed)

$(installed): pyproject.toml requirements/dev.txt tools/setup.sh
	tools/setup.sh
	@touch $@

demo: setup  ## K-means, AI K-means and DI K-means on 5,000 real digits
	$(python) -m dikmeans.demo

test: setup lint  ## everything but what is marked slow
	$(python) -m pytest -m "not slow"

test-all: setup lint  ## everything
	$(python) -m pytest

lint: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

bench: setup  ## figures of speed; needs PyTorch for the comparison
	$(python) -m pip install --quiet torch==2.13.0
	$(python) benchmarks/kernel.py
	$(python) benchmarks/solver.py
	$(python) benchmarks/growth.py

clean:
	rm -rf .venv out build dist
