# `make run` and `make test` install what they need into .venv; both may be repeated.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: run test test-frameworks test-slow bench environments experiment-docs clean
.DELETE_ON_ERROR:

run: $(STAMP)
	$(BIN)/lockstep compare airfoil-linear --frameworks numpy,torch,jax --steps 300

# one core for each of the two test processes: more threads would spin while they wait for each other
test: export OMP_NUM_THREADS := 1
test: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -q -n 2 --dist worksteal -m "not slow"

# the four frameworks with environments of their own, and one run continued in all seven in turn
test-frameworks: environments
	$(BIN)/python -m tests.in_environments
	$(BIN)/pytest -q -m slow tests/training/test_relay.py

test-slow: $(STAMP)
	$(BIN)/pytest -q -m slow

# kept between runs, and made again only when their versions change; two at a time, because each
# waits for downloads and for the disk
environments: $(STAMP)
	$(BIN)/lockstep env create mindspore & \
	$(BIN)/lockstep env create tensorflow paddle mxnet; others=$$?; \
	wait $$! && exit $$others

# every experiment in full, and its answer in docs/experiments/; what build/ has is not run again
experiment-docs: $(STAMP)
	$(BIN)/lockstep experiment all --out build/experiments
	for folder in build/experiments/*/; do \
	  name=$$(basename $$folder); \
	  sed -e "s|(figure.svg)|($$name.svg)|" -e "s| --out [^ ]*||" $$folder/answer.md \
	    > docs/experiments/$$name.md; \
	  cp $$folder/figure.svg docs/experiments/$$name.svg; \
	done

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# the stamp is made last, so that an interrupted installation is repeated
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[test]"
	touch $(STAMP)

clean:
	rm -rf $(VENV)
