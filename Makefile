# Every target does its own set-up (tools/setup), so each works as the first command on a fresh Debian 12 machine.
# Ninja does the parallelism; make only names the things one wants to do.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.NOTPARALLEL:

ONCE ?=
SECONDS ?= 60
ALL ?=
SINCE ?=
PRESET ?= release
PREFIX ?= $(HOME)/.local
export ONCE ALL SINCE

.PHONY: help
help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

.PHONY: demo
demo: ## build, start the server and the demo shop, show why it is slow (ONCE=1: print and exit)
	@tools/setup build
	@tools/build release wherefore wherefore-demo
	@tools/demo

.PHONY: install
install: ## put wherefore, man page, completion and libwherefore into PREFIX (~/.local)
	@tools/setup build
	@tools/build release wherefore wherefore-demo wherefore_record wherefore_static wherefore_shared
	@tools/install install "$(PREFIX)"

.PHONY: uninstall
uninstall: ## remove what make install put into PREFIX (~/.local)
	@tools/install uninstall "$(PREFIX)"

.PHONY: build
build: ## build everything into build/release (PRESET=dev|asan|tsan for another)
	@tools/setup build
	@tools/build $(PRESET)

.PHONY: test
test: ## build and run every test but the long ones; ends with the line "tests: ..."
	@tools/setup build test deb
	@tools/build release
	@tools/run-tests

.PHONY: test-slow
test-slow: ## build and run the long tests
	@tools/setup build test deb
	@tools/build release
	@tools/run-tests --slow

.PHONY: lint
lint: ## layout, layers, pages and commits; clang-tidy on what changed since the last release (ALL=1: on all)
	@tools/setup build lint
	@tools/lint

.PHONY: bench
bench: ## measure, and write docs/measured/benchmarks.md again
	@tools/setup build bench
	@tools/build release
	@bench/run

.PHONY: fuzz
fuzz: ## run every fuzzer for SECONDS=60
	@tools/setup build fuzz
	@tools/fuzz $(SECONDS)

.PHONY: deb
deb: ## build/wherefore_VERSION_ARCH.deb, with a systemd unit
	@tools/setup build deb
	@tools/build release
	@tools/deb

.PHONY: clean
clean: ## remove what was built (the fetched libraries in build/deps and build/deps-kafka stay)
	@find build -mindepth 1 -maxdepth 1 ! -name 'deps*' -exec rm -rf {} +
	@rm -rf ui/dist client/browser/dist
