# SPDX-License-Identifier: GPL-3.0-or-later
# `make setup` once, then `make demo`, `make test`. Everything that is made lies in .venv, .venvs, out and dist.

PYTHON ?= python3.11
PIP_FLAGS ?= --quiet --disable-pip-version-check
BIN := .venv/bin
# One thread: the matrices are small, and figures and tests should not depend on what else runs.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export GOMP_SPINCOUNT ?= 0

.PHONY: setup demo test lint bench rigs package gui docs pictures clean
.DELETE_ON_ERROR:

setup: .venv/.installed .venvs/bpy-5.0/.installed .venvs/bpy-4.2/.installed .venvs/docs/.installed

.venv/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install $(PIP_FLAGS) --editable '.[bpy,train,cluster,dev]'
	touch $@

# The other Blender versions that the extension is tested with. They have no torch: a bake needs none.
.venvs/bpy-5.0/.installed: BPY := 5.0.1
.venvs/bpy-4.2/.installed: BPY := 4.2.23
.venvs/bpy-%/.installed: Makefile
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install $(PIP_FLAGS) bpy==$(BPY) numpy==1.26.4 array-api-compat==1.16.0 pytest==9.2.0
	touch $@

demo: .venv/.installed
	$(BIN)/nsm-blender demo --out out/demo

test: setup
	tools/test.sh

lint: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	tools/typecheck.sh

bench: .venv/.installed
	mkdir -p out
	$(BIN)/nsm-blender bench --json out/bench.json

# Binding and retargeting on rigs of all conventions: figures in out/rigs.json, a contact sheet of each in out/rigs.
rigs: .venv/.installed
	mkdir -p out
	$(BIN)/nsm-blender evaluate rigs --json out/rigs.json --sheets out/rigs

# Whatever environment is there builds the zip: only a clone without any is set up first.
package: | $(BIN)/python
	$(BIN)/python tools/package.py --out dist

$(BIN)/python:
	$(MAKE) .venv/.installed

# A real window, in a Debian chroot; needs root. CHROOT=folder keeps it elsewhere, SUITE=sid takes the newest Blender.
gui: package
	tools/gui.sh

# The documents as a website in out/docs; every warning, such as a broken link, fails.
docs: .venvs/docs/.installed
	.venvs/docs/bin/sphinx-build --quiet --fail-on-warning --fresh-env --write-all --doctree-dir out/cache/docs docs out/docs

.venvs/docs/.installed: Makefile
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install $(PIP_FLAGS) sphinx==9.0.4 myst-parser==5.2.0 furo==2025.12.19
	touch $@

# The pictures in the documents, taken anew in a real window; needs root, as `make gui`. And those of the store.
pictures: package
	PARTS=tutorial tools/gui.sh
	cp out/gui/tutorial-*.png docs/images/
	$(BIN)/python tools/store_pictures.py dist/nsm_blender-*.zip docs/store

clean:
	rm -rf out dist build *.egg-info
	find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +
