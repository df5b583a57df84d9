# Every target makes the environment it needs: .venv is built from the hashed lock when it is missing or older.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/installed
UV     := 0.13.9
PIP    := -m pip --quiet --quiet --no-input --disable-pip-version-check
ROUNDS ?= 20
SECONDS ?= 120
KILLS  ?= 1000
PLUGS  ?= 1000
WORKERS ?= $(shell expr $$(nproc) + 1)

export PATH := $(PATH):/usr/sbin:/sbin
# Tests and rehearsals start hundreds of processes: none should have to compile the house anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install demo test test-again test-slow test-ci test-vm lint format bench fuzz soak lock clean peers

help:
	@echo "make demo       play a few hands on simulated devices and tell them as a story"
	@echo "make test       the quick tests             make test-ci    what CI runs besides      make test-slow  the rest"
	@echo "make test-vm    a machine in software emulation: Debian's kernel, systemd, udev, USB/IP (as root, about 15 minutes)"
	@echo "make lint       style, types, import arrows, module length"
	@echo "make bench      measure                     make soak       play long, kill often (ROUNDS=$(ROUNDS) KILLS=$(KILLS))"
	@echo "make fuzz       any bytes at every codec, driver and the sensing (SECONDS=$(SECONDS) in all)"
	@echo "make lock       pin the dependencies anew   make clean      remove what was built"

$(STAMP): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "feltd needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	    { echo "$(PYTHON) cannot make a virtual environment (Debian: apt-get install python3-venv)"; exit 1; }
	@$(BIN)/python $(PIP) install --require-hashes -r requirements-dev.lock
	@$(BIN)/python $(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

install: $(STAMP)

demo: $(STAMP)
	@$(BIN)/feltsim demo

# The integration tests talk to a real broker, have systemd's own tools read the units and tshark the captures. Where one is missing
# they fail and say so; they are never skipped.
PEERS := mosquitto:mosquitto systemd-analyze:systemd tshark:tshark sshd:openssh-server
peers:
	@for need in $(PEERS); do \
	    command -v $${need%%:*} >/dev/null || missing="$$missing $${need##*:}"; \
	done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing$$missing"; apt-get -qq update && \
	    DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends $$missing >/dev/null; \
	else \
	    echo "missing:$$missing. Tests that need them will fail (Debian: apt-get install$$missing)"; \
	fi

# One more at a time than there are cores: over wires much of the time is that of devices and brokers. Each worker begins with a
# part of its own, so wires and sums are run side by side, and takes from the others when it is done.
PYTEST = $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal
define tests
	@mkdir -p build; rm -f build/test.code; $(PYTEST) -m "$(1)"; code=$$?; echo $$code > build/test.code; exit $$code
endef

test: $(STAMP) peers
	$(call tests,not slow and not ci)

# What every change has to pass as well, and takes too long to be waited for.
test-ci: $(STAMP) peers
	$(call tests,ci and not slow)

test-again: $(STAMP) peers
	@test "$$(cat build/test.code 2>/dev/null)" = 1 || { echo "the tests did not run to their end"; exit 1; }
	@echo "once more, alone, what has failed above:"
	@$(BIN)/python -m pytest -q --last-failed --last-failed-no-failures none -m "not slow"

test-slow: PEERS += rabbitmqctl:rabbitmq-server
test-slow: $(STAMP) peers
	@$(BIN)/python -m pytest -q -n 2 -m slow

# A machine of its own, built from this host's Debian release and booted in qemu: docs/hil.md.
test-vm: PEERS := qemu-system-x86_64:qemu-system-x86 mmdebstrap:mmdebstrap mke2fs:e2fsprogs
test-vm: $(STAMP) peers
	@$(BIN)/python -m tests.vm.run

lint: $(STAMP)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy --no-error-summary
	@out="$$($(BIN)/lint-imports --no-cache)" || { echo "$$out"; exit 1; }
	@find backoffice config controller drivers simulators -name '*.py' -exec \
	    awk 'FNR == 401 {print FILENAME ": longer than 400 lines, split it"; bad = 1} END {exit bad}' {} +

format: $(STAMP)
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format --quiet .

bench: $(STAMP)
	@$(BIN)/python -m benchmarks.bench
	@$(BIN)/python -m benchmarks.codecs
	@$(BIN)/python -m benchmarks.rules
	@$(BIN)/python -m benchmarks.records $(if $(HANDS),--hands $(HANDS))
	@$(BIN)/python -m benchmarks.sensing
	@$(BIN)/python -m benchmarks.group_commit
	@$(BIN)/python -m benchmarks.latency
	@$(BIN)/python -m benchmarks.idle

# atheris is for fuzzing alone and has wheels for x86-64 Linux only, so it is no part of the environment of the tests.
fuzz: $(STAMP)
	@$(BIN)/python -c 'import atheris' 2>/dev/null || \
	    $(BIN)/python $(PIP) install --only-binary :all: --require-hashes -r requirements-fuzz.lock || \
	    { echo "atheris has no wheel for this Python and machine; the tests fuzz with hypothesis"; exit 1; }
	@$(BIN)/python -m tests.fuzzing.run --seconds $(SECONDS)

soak: $(STAMP) peers
	@$(BIN)/python -m benchmarks.soak --rounds $(ROUNDS)
	@$(BIN)/python -m tests.soak.crash --kills $(KILLS)
	@$(BIN)/python -m tests.soak.replug --cycles $(PLUGS)

# requirements.lock is what a table's device installs; requirements-dev.lock adds the simulators and the tools.
lock:
	@test -x build/lock/bin/uv || $(PYTHON) -m venv build/lock
	@build/lock/bin/python $(PIP) install uv==$(UV)
	@build/lock/bin/uv pip compile --quiet pyproject.toml --output-file requirements.lock $(LOCKFLAGS)
	@build/lock/bin/uv pip compile --quiet pyproject.toml --extra simulators --extra postgresql --group dev \
	    --constraint requirements.lock --output-file requirements-dev.lock $(LOCKFLAGS)

LOCKFLAGS := --upgrade --universal --python-version 3.11 --generate-hashes \
             --no-header --no-emit-index-url --no-emit-find-links --annotation-style line

clean:
	@rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find backoffice config controller drivers simulators tests benchmarks -name __pycache__ -type d -exec rm -rf {} +
