# What a user types. Each target installs what it needs into .venv, from the lock files.
PYTHON ?= python3.11
ifeq (, $(shell command -v $(PYTHON)))
PYTHON := python3
endif
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet

.PHONY: demo test check mutants bench test-ops test-audio dashboards lock test-systemd soak clean help

help:
	@echo 'make demo    measure the built-in recogniser with real speech (two minutes, no keys)'
	@echo 'make test    all tests (about ten minutes)'
	@echo 'make test-systemd  the units, booted in a container (five minutes, as root)'
	@echo 'make soak    the daemon for half an hour while all around it goes wrong (MINUTES=10, as root)'
	@echo 'make check   style, types, import rules'
	@echo 'make mutants small faults planted in the heart, to see that a test notices each'
	@echo 'make bench   side by side with other clients (twelve minutes; BENCH=--quick: three)'
	@echo 'make test-ops  Prometheus, rules, alerts and dashboards for real (three minutes)'
	@echo 'make test-audio  live audio with a virtual sound card (three minutes)'
	@echo 'make .venv   only the environment, with .venv/bin/speechbench'

# The environment of a benchmark host: exactly the lock, and this program from this folder.
# torch and what else we never import is left out of the lock, hence --no-deps.
$(VENV)/installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'speechbench needs Python 3.11 or newer: make PYTHON=/path/to/python3.11' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo 'Python cannot make environments here: apt-get install python3-venv' >&2; exit 1; }
	@echo 'Installing into $(VENV) …' >&2
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --no-deps --require-hashes --requirement requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# The same and what it takes to work on it.
$(VENV)/installed-dev: $(VENV)/installed requirements-dev.lock
	@echo 'Installing the tools into $(VENV) …' >&2
	@$(PIP) install --no-deps --require-hashes --requirement requirements-dev.lock
	@touch $@

# The same and what the benchmarks measure against.
$(VENV)/installed-bench: $(VENV)/installed requirements-bench.lock
	@echo 'Installing what is compared into $(VENV) …' >&2
	@$(PIP) install --no-deps --require-hashes --requirement requirements-bench.lock
	@touch $@

# The same and what makes the dashboards and reads their queries.
$(VENV)/installed-ops: $(VENV)/installed-dev requirements-ops.lock
	@echo 'Installing what dashboards are made with into $(VENV) …' >&2
	@$(PIP) install --no-deps --require-hashes --requirement requirements-ops.lock
	@touch $@

.venv: $(VENV)/installed
	@touch $(VENV)

demo: $(VENV)/installed
	@$(BIN)/speechbench run $(DEMO)

test: $(VENV)/installed-dev
	@$(BIN)/python -m pytest -q

check: $(VENV)/installed-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m tests.names

# A Debian that is this machine's own, under a throw-away overlay; nothing outside of it is changed.
test-systemd: $(VENV)/installed-dev
	@$(BIN)/python -m tests.systemd.needed
	@$(BIN)/python -m pytest -q tests/systemd

# Ends with what was proven, a line each; exit code 1 where something was not.
MINUTES ?= 30
soak: $(VENV)/installed-dev
	@$(BIN)/python -m tests.soak $(MINUTES)

# FILES names files of measure/, such as stopwatch.py; without any, all of them.
mutants: $(VENV)/installed-dev
	@$(BIN)/python -m tests.measure.mutants $(FILES)

# Alone on the host, as root or with the right to real-time priority: docs/performance.md says what
# was there. BENCH takes --quick, --json and --docs FOLDER.
bench: $(VENV)/installed-bench
	@$(BIN)/python -m benchmarks $(BENCH)

# Prometheus, promtool and Alertmanager from Debian, on loopback and in a temporary folder.
test-ops: $(VENV)/installed-ops
	@$(BIN)/python -m tests.ops.needed
	@$(BIN)/python -m pytest -q tests/ops

# A sound server of its own, in a temporary folder; no sound card is touched.
test-audio: $(VENV)/installed-dev
	@$(BIN)/python -m tests.audio.needed
	@$(BIN)/python -m pytest -q tests/audio tests/daemon/test_sound.py

# exporters/grafana/dashboards, anew from the code.
dashboards: $(VENV)/installed-ops
	@$(BIN)/python -m exporters.grafana

# For maintainers, with uv: names, versions and hashes of what pyproject.toml asks for.
lock:
	uv pip compile --universal --generate-hashes --no-header --no-annotate \
	  --group build --extra local pyproject.toml -o requirements.lock
	uv pip compile --universal --generate-hashes --no-header --no-annotate \
	  --group dev -c requirements.lock pyproject.toml -o requirements-dev.lock
	uv pip compile --universal --generate-hashes --no-header --no-annotate \
	  --group bench -c requirements.lock -c requirements-dev.lock pyproject.toml \
	  -o requirements-bench.lock
	uv pip compile --universal --generate-hashes --no-header --no-annotate \
	  --group ops -c requirements.lock -c requirements-dev.lock pyproject.toml \
	  -o requirements-ops.lock
	$(PYTHON) -m tests.trim_lock requirements.lock requirements-dev.lock
	$(PYTHON) -m tests.trim_lock requirements.lock requirements-bench.lock
	$(PYTHON) -m tests.trim_lock requirements.lock requirements-ops.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
