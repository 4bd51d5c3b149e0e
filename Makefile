# make demo           the main job on this machine, no internet
# make test           the whole test suite
# make bench          figures beside their limits; make bench-cluster those of a cluster, as root
# make faults         a cluster while its machines break, as root
# All set up .venv first, if it is not there or pyproject.toml has changed.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test lint bench bench-cluster faults fuzz docs screenshots clean

demo: setup
	$(BIN)/mayfly demo

test: setup
	$(BIN)/pytest -n auto

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: setup
	$(BIN)/python docs/reference/generate.py

# Needs Chromium (on Debian and Ubuntu: apt-get install chromium); three minutes.
screenshots: setup
	$(BIN)/python docs/images/take.py

bench: setup
	$(BIN)/python bench/plan.py
	$(BIN)/python bench/decisions.py
	$(BIN)/python bench/replay.py
	$(BIN)/python bench/fetching.py
	$(BIN)/python bench/crawling.py
	$(BIN)/python bench/store.py
	$(BIN)/python bench/clicks.py
	$(BIN)/python bench/study.py
	$(BIN)/python bench/scale.py
	$(BIN)/python bench/feedback.py storm

# Four shards against one process, and two machines against one (network namespaces, so as root on Linux): about forty minutes, on a
# machine that does nothing else.
bench-cluster: setup
	$(BIN)/python bench/cluster_replay.py
	$(BIN)/python bench/cluster_quality.py
	$(BIN)/python bench/cluster_speed.py

# A cluster on three machines (network namespaces, so as root on Linux) while they break: half an hour, each fault five times.
faults: setup
	$(BIN)/python bench/faults.py

# Three minutes of guided bytes, and the laws of the readers with more examples than in `make test`.
fuzz: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt '.[fuzz]'
	$(BIN)/python fuzz/fuzz.py 30
	$(BIN)/pytest -n auto --hypothesis-profile thorough tests/fetch tests/test_urls.py

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Mayfly needs Python 3.11 or newer as '$(PYTHON)' (or: make PYTHON=python3.12 ...)."; \
	    echo "On Debian and Ubuntu: apt-get install python3"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "Python's venv is missing. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

clean:
	rm -rf .venv mayfly-demo
