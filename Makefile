# `make run` and `make test` set up everything they need below this folder, and may be repeated.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: run test test-frameworks test-slow bench environments clean
.DELETE_ON_ERROR:

run: $(STAMP)
	$(BIN)/lockstep compare airfoil-linear --frameworks numpy,torch,jax --steps 300

# each of the two workers has one core: more threads would wait for each other, actively
test: export OMP_NUM_THREADS := 1
test: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -q -n 2 --dist worksteal -m "not slow"

# the four frameworks that need interpreters of their own, and the run handed through all seven
test-frameworks: environments
	$(BIN)/python -m tests.in_environments
	$(BIN)/pytest -q tests/training/test_relay.py

test-slow: $(STAMP)
	$(BIN)/pytest -q -m slow

# kept from one run to the next where the folder survives; made anew when their versions change; two
# at a time: each waits for downloads and for the disk
environments: $(STAMP)
	$(BIN)/lockstep env create mindspore & \
	$(BIN)/lockstep env create tensorflow paddle mxnet; others=$$?; \
	wait $$! && exit $$others

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# the stamp comes last, so that an interrupted installation is taken up again
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[test]"
	touch $(STAMP)

clean:
	rm -rf $(VENV)
