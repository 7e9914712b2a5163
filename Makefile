# Needs Go, git and a POSIX shell; no recipe but interop, which runs moto where
# it is installed, calls anything else. Kept to what GNU make 3.81 and BSD
# userlands understand.

.DEFAULT_GOAL := help
SHELL := /bin/sh

# "dev" where git says nothing, as in an unpacked archive. Recursive on purpose:
# only a recipe that builds pays for asking git.
VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# -trimpath and no VCS stamp: the same sources give the same bytes in any folder.
GOBUILD = go build -buildvcs=false -trimpath -ldflags "-X main.version=$(VERSION)"

# Extra arguments for demo and bench: make demo ARGS="--hot 0.9 --seed 7"
ARGS =

# How many seeds make sim runs.
SEEDS = 200

.PHONY: help
help: ## list the targets
	@while IFS= read -r line; do \
	  case "$$line" in \
	    [a-z]*:*'## '*) printf '  make %-16s %s\n' "$${line%%:*}" "$${line#*'## '}" ;; \
	  esac; \
	done < Makefile

.PHONY: demo
demo: build ## the whole way on this machine: append, stream, order, read model, verify (ARGS="--help")
	@bin/shard-reader demo $(ARGS)

.PHONY: test
test: ## all tests, with the race detector where there is a C compiler
	@cc=$$(go env CC); \
	if [ "$$(go env CGO_ENABLED)" = 1 ] && command -v "$${cc%% *}" >/dev/null; then \
	  go test -race ./...; \
	else \
	  echo "no C compiler: testing without the race detector"; \
	  go test ./...; \
	fi

.PHONY: build
build: ## the programs, into bin/
	@[ -x bin/shard-reader ] || echo "First build: it compiles the AWS SDK too, which takes about a minute." >&2
	@$(GOBUILD) -o bin/ ./cmd/...

.PHONY: bench
bench: ## hot-partition benchmark against its baselines (ARGS="--help")
	@$(GOBUILD) -o bin/ ./benchmarks/hotpartition
	@bin/hotpartition $(ARGS)

.PHONY: sim
sim: ## whole workers in fake time under seeded faults (SEEDS=200)
	@go test ./internal/sim -count=1 -timeout 0 -run '^TestSeeds$$' -seeds=$(SEEDS)

.PHONY: lint
lint: ## linters and formatting
	@cd tools && go build -o ../bin/tools/ tool
	@bin/tools/golangci-lint run

.PHONY: format
format: ## write the formatting that lint demands
	@cd tools && go build -o ../bin/tools/ tool
	@bin/tools/golangci-lint fmt

.PHONY: generate
generate: ## write generated files anew
	@go generate ./...

.PHONY: newcomer
newcomer: ## clone into a bare environment, then make test and make demo as the README says
	@/bin/sh tools/newcomer.sh

.PHONY: interop
interop: ## the conformance suite and the orders example against moto
	@go run ./internal/interop

.PHONY: image
image: ## the container image for amd64 and arm64, into image/millrace.tar
	@go run ./deploy/ecs/image -version "$(VERSION)"

.PHONY: lint-deploy
lint-deploy: ## cfn-lint over the templates for ECS
	@if command -v cfn-lint >/dev/null; then cfn-lint deploy/ecs/storage.yaml deploy/ecs/worker.yaml deploy/ecs/redrive.yaml && echo "cfn-lint: nothing found"; \
	else echo "SKIPPED: cfn-lint is not installed (pip install cfn-lint). No template was linted."; fi

.PHONY: conformance-aws
conformance-aws: ## the conformance suite against your AWS account: creates and deletes tables, costs cents
	@MILLRACE_AWS_CONFORMANCE=1 go test -count=1 -timeout 60m -v -run '^TestAWS$$' ./internal/localaws/conformance
