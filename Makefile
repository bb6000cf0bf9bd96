# Each target creates the environment it needs in .venv. Requires Python 3.11 or newer, and make.
#
#   make demo    install eqemb, build a library of the demo articles, ask it three questions
#   make test    the tests; no browser tests, and only a sample of the long campaigns
#   make check   every test, at full size
#   make attack  hostile input, damaged files, kills and faults at full size, with a table of counts
#   make lint    style and types
#   make docs    the documentation as a site, in site/
#   make clean   remove .venv and everything that was generated, but keep library/
#
#   make lock    write constraints.txt again, with the newest versions
#
# To use another Python: make test PYTHON=python3.13
# To use exactly the packages of constraints.txt, checked by their hashes:
# make clean && make test LOCKED=1

PYTHON ?= python3
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
BASE := .venv/base
READY := .venv/ready

# One test process per core. Tests that share a module's fixtures stay together until a process
# runs out of work.
PARALLEL := -n logical --maxprocesses 8 --dist worksteal
# Tests write and sync thousands of small files: in memory, if /dev/shm has 2 GB free.
# One BLAS thread per process: small matrices are slower with more.
TEST := OPENBLAS_NUM_THREADS=1 TMPDIR=$(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 2000000 {print "/dev/shm"; found = 1} END {if (!found) print ENVIRON["TMPDIR"] ? ENVIRON["TMPDIR"] : "/tmp"}') $(BIN)/pytest -q $(PARALLEL)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start hundreds of Python processes. Without bytecode on disk each would compile eqemb again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check attack lint docs lock clean

demo: $(BASE)
	@$(BIN)/eqemb demo -o library
	@echo
	@echo "To type eqemb instead of .venv/bin/eqemb: source .venv/bin/activate"
	@echo "To open the page: .venv/bin/eqemb serve library --open"

test: $(READY)
	$(TEST) -m "not slow and not browser"

check: $(READY)
	EQEMB_FULL=1 $(TEST)

attack: $(READY)
	EQEMB_FULL=1 $(TEST) tests/attack

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(READY)
	$(BIN)/python docs/generate.py --check
	$(BIN)/mkdocs build --strict

# For all systems and all versions of Python; torch is left out, for its versions by device.
lock: $(BASE)
	$(BIN)/pip install -q uv
	$(BIN)/uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --custom-compile-command 'make lock' --extra dev --extra docs pyproject.toml -o constraints.txt

clean:
	rm -rf .venv dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis

# Two environments in one folder: what the demo and the page need, then what development needs on
# top. Each marker is written last, so that an interrupted installation is repeated.
$(BASE): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "eqemb needs Python 3.11 or newer, but $(PYTHON) is " + sys.version.split()[0] + ": use make PYTHON=...")'
	@echo "Installing eqemb into .venv (once, about half a minute)" >&2
	@$(PYTHON) -m venv .venv
	@$(if $(LOCKED),$(BIN)/pip install --require-hashes -r constraints.txt >&2)
	@$(BIN)/pip install -e '.[serve]' >&2
	@touch $(BASE)

$(READY): $(BASE)
	@echo "Installing the development packages into .venv (once, about a minute)" >&2
	@$(BIN)/pip install -e '.[dev,docs]' >&2
	@touch $(READY)
