# make help lists what there is. Everything that is needed is set up on the way; see build/setup.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
FUZZTIME ?= 60s
testrun = build/go build -buildvcs=false -o bin/testrun ./build/testrun
.PHONY: help build page demo test test-servers check lint fmt fuzz bench clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1	\2/p' Makefile | expand -t 20

build: ## bin/dyno
	@build/setup build
	@build/compile

page: ## the page, internal/web/dist, from ui/ (needs Node 18; make build takes what is committed)
	@build/ui

demo: ## plant a fault on a private server, find it, fix it, prove it (FAULT=name for another one)
	@build/setup demo
	@build/compile
	@bin/dyno demo $(FAULT)

test: ## everything: format, linters, all tests on real servers; the last line counts them
	@build/setup test || { echo "0 passed, 1 failed"; exit 1; }
	@build/compile || { echo "0 passed, 1 failed"; exit 1; }
	@$(testrun) && bin/testrun

test-servers: ## what users run, on each server version that can be had, or SERVERS="mysql@5.5 mariadb@10.2"; fetches some 1.3 GB
	@build/setup demo
	@build/compile
	@DYNO_HOME=$$(build/cachedir)/versions build/go run ./bench/versions bin/dyno $(SERVERS)

check: ## the quick part of test: format, linters, tests that need no server
	@build/setup check
	@$(testrun) && bin/testrun -short

lint: ## linters only
	@build/setup build
	@$(testrun) && bin/testrun -only lint

fmt: ## format the Go files
	@build/setup build
	@build/go tool -modfile=tools/go.mod golangci-lint fmt

fuzz: ## every fuzz target for FUZZTIME (60s)
	@build/setup build
	@build/fuzz $(FUZZTIME)

bench: ## every Go benchmark
	@build/go test -run '^$$' -bench . -benchmem ./...

clean: ## remove what was built here (what was fetched stays in the cache)
	rm -rf bin
