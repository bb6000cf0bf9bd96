# The house's doors. Each target makes its own environment; needs only Python >= 3.11 and make.
#
#   make demo    a library of the articles that come with eqemb, and three questions to it
#   make test    the tests, long campaigns as samples
#   make check   the tests in full
#   make lint    style and types
#   make docs    the documentation as a site, in site/
#   make clean   remove the environment and all that was made, but not library/: it may be yours
#
# Another Python: make test PYTHON=python3.13

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test check lint docs clean

demo: $(READY)
	@$(BIN)/eqemb demo -o library
	@echo
	@echo "Type .venv/bin/eqemb for eqemb, or first: source .venv/bin/activate"

test: $(READY)
	$(BIN)/pytest -m "not slow"

check: $(READY)
	EQEMB_FULL=1 $(BIN)/pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(READY)
	$(BIN)/python docs/generate.py --check
	$(BIN)/mkdocs build --strict

clean:
	rm -rf .venv dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis

# Made anew when the packages we ask for change; "ready" is written last, so that an
# environment whose making was interrupted is not taken for a whole one.
$(READY): pyproject.toml
	@echo "making .venv, once: pip installs about 100 packages, a minute or two without a word" >&2
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "eqemb needs Python 3.11 or newer, and $(PYTHON) is " + sys.version.split()[0] + ": say make PYTHON=...")'
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install -q -e '.[dev,docs]'
	@touch $(READY)
