# Everything from a fresh clone with Python 3.11 and make: each target installs what it needs into .venv.
#   make run          a broker to try, on embedded defaults
#   make check        the tests that changes since the last commit touch; `make check BASE=main`: since main
#   make test         the tests; `make test-long` runs them at larger sizes, and all benchmarks' tests
#   make lint types layers news     what a change must pass beside the tests
#   make pipeline     a broker with a sample topic and a Spark pipeline on it, with its page in the admin UI
#   make jars         Spark's own Kafka connector, for the tests that compare it with ours (needs Maven)
#   make bench        this broker beside Apache Kafka (needs Java 17 and Maven)
#   make bench BASE=main      this working tree beside that revision, in both orders; ARGS="ROW ...": other rows
#   make troubles     pictures and quotes of docs/how-to/twelve-troubles.md (needs Chromium)
#   make leaf         the compiled leaf for records, into .venv (needs a C compiler)
#   make docs         the documentation as a site in build/docs; a broken link fails it
#   make lock         write requirements/*.txt anew; `make lock UPGRADE=--upgrade` takes newer versions

PYTHON ?= $(firstword $(shell command -v python3.11 python3))
BIN := .venv/bin
UV := $(BIN)/uv
PIP := $(UV) pip install --quiet --compile-bytecode --python $(BIN)/python
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	--no-emit-index-url --no-emit-find-links $(UPGRADE)
EXAMPLES := $(patsubst %/pyproject.toml,%,$(wildcard examples/plugins/*/pyproject.toml))
EXTRAS := --extra http --extra workers --extra columnar --extra telemetry --extra tls --extra oauth --extra testing
# `make test SPARK=no`: without pyspark, which is large, and without the tests that need it.
SPARK ?= yes
SUITE := $(if $(filter no,$(SPARK)),test,spark)
ARGS ?=
# Not on a disk of the machine: one that is nearly full would be a finding, too.
TROUBLES := TRIO_KAFKA_TROUBLES=$(CURDIR)/build/troubles $(BIN)/pytest -q -n 0 --basetemp /dev/shm/trio-kafka-troubles
# Without kept bytecode every start compiles all it imports: 0.6 s of CPU.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run pipeline check test test-long bench jars leaf lint format types layers news docs screenshot troubles wheel lock clean

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

run: .venv/run.stamp
	$(BIN)/trio-kafka start --embedded

pipeline: .venv/spark.stamp
	mkdir -p build/pipeline/pipelines
	cp examples/spark/word_count.py examples/spark/word_count.toml build/pipeline/pipelines/
	cd build/pipeline && ../../$(BIN)/trio-kafka start --embedded -c plugin.pipelines.enabled=true \
		-c plugin.pipelines.directory=pipelines

# By imports: tests/selection.py says which tests, and why. `ARGS=--list` only says so.
check: .venv/$(SUITE).stamp
	$(BIN)/python -m tests.selection $(if $(BASE),--base $(BASE)) $(ARGS)

# Python reads and writes records there; `make leaf` and the mark `leaf` are for the compiled functions.
check test test-long: export TRIO_KAFKA_LEAF ?= off

# Three workers, as two leave a core idle while tests wait for processes: see tests/order.py.
# Those of Spark share one session, in a process of their own, which keeps both cores busy.
test: .venv/$(SUITE).stamp
	status=0; \
	$(BIN)/pytest -n 3 --dist worksteal $(ARGS) || status=1; \
	test $(SUITE) = test || $(BIN)/pytest -m spark tests/trio_kafka_spark $(ARGS) || status=1; \
	exit $$status

test-long: .venv/$(SUITE).stamp
	status=0; \
	$(BIN)/pytest --sizes long $(ARGS) || status=1; \
	test $(SUITE) = test || $(BIN)/pytest --sizes long -m spark tests/trio_kafka_spark $(ARGS) || status=1; \
	TRIO_KAFKA_LEAF=on $(BIN)/pytest --sizes long -m leaf tests/records tests/replication $(ARGS) || status=1; \
	exit $$status

bench: .venv/test.stamp
ifdef BASE
	$(BIN)/python -m tests.benchmarks.compare '$(BASE)' $(ARGS)
else
	tests/benchmarks/apache_kafka/fetch.sh broker
	$(BIN)/python -m tests.benchmarks $(ARGS)
endif

jars:
	tests/trio_kafka_spark/jars/fetch.sh

lint: .venv/dev.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: .venv/dev.stamp
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Each example alone: they are distributions of their own, and two of them have a client.py.
types: .venv/dev.stamp
	$(BIN)/mypy
	for example in $(EXAMPLES); do echo $$example; MYPYPATH=$$example $(BIN)/mypy --exclude /tests/ $$example || exit 1; done

layers: .venv/dev.stamp
	$(BIN)/lint-imports
	PYTHONPATH=$(subst $() ,:,$(EXAMPLES)) $(BIN)/lint-imports --config examples/plugins/importlinter.toml

news: .venv/dev.stamp
	$(BIN)/towncrier build --draft --version next

docs: .venv/docs.stamp
	$(BIN)/sphinx-build --quiet --fail-on-warning --fresh-env --conf-dir docs . build/docs
	echo '<meta http-equiv="refresh" content="0; url=docs/README.html">' > build/docs/index.html

# A picture of the admin UI, as a test sees it in Chromium.
screenshot: .venv/test.stamp
	TRIO_KAFKA_SCREENSHOT=$(CURDIR)/docs/images $(BIN)/pytest -q -n 0 --basetemp /dev/shm/trio-kafka-screenshot tests/e2e/test_landing.py -k screenshot

troubles: .venv/test.stamp
	rm -rf build/troubles docs/images/troubles
	$(TROUBLES) tests/trio_kafka_admin/drills -k "not healthy and not troubles"
	$(TROUBLES) tests/e2e/test_trouble_pictures.py
	$(BIN)/python -m tests.trio_kafka_admin.drills.troubles build/troubles
	rm -rf /dev/shm/trio-kafka-troubles

wheel: .venv/build.stamp
	$(BIN)/python -m hatchling build -t wheel -d dist

# In this order: each file is held to the versions of the one before.
# Records are read and written by compiled functions then; everything else is as before.
leaf: .venv/leaf.stamp
	rm -rf build/leaf
	$(UV) build --quiet --wheel --no-build-isolation --python $(BIN)/python --out-dir build/leaf plugins/trio_kafka_leaf
	$(PIP) --no-deps --reinstall build/leaf/*.whl
	$(BIN)/trio-kafka --version

lock: $(UV)
	$(COMPILE) --group uv -o requirements/uv.txt
	$(COMPILE) --group build -o requirements/build.txt
	$(COMPILE) pyproject.toml --extra http --extra workers -o requirements/run.txt
	$(COMPILE) pyproject.toml $(EXTRAS) --group test -o requirements/test.txt \
		-c requirements/uv.txt -c requirements/build.txt -c requirements/run.txt
	$(COMPILE) pyproject.toml $(EXTRAS) --extra spark --group test -o requirements/spark.txt -c requirements/test.txt
	$(COMPILE) pyproject.toml $(EXTRAS) --extra spark --group dev -o requirements/dev.txt -c requirements/spark.txt
	$(COMPILE) pyproject.toml --extra testing --group recipes -o requirements/recipes.txt -c requirements/dev.txt
	$(COMPILE) --group leaf -o requirements/leaf.txt -c requirements/uv.txt -c requirements/build.txt
	$(COMPILE) --group docs -o requirements/docs.txt -c requirements/dev.txt

# What was installed stands in a stamp: a target that needs more adds to .venv, and none takes anything away.
.venv/%.stamp: requirements/%.txt requirements/build.txt pyproject.toml $(UV)
	$(PIP) --require-hashes -r $<
	$(PIP) --no-deps --build-constraints requirements/build.txt --editable .
	@touch $@

$(UV): requirements/uv.txt
	test -x $(BIN)/python || $(PYTHON) -m venv --without-pip .venv
	$(BIN)/python -m ensurepip --default-pip >/dev/null
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
