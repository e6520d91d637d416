# `make` alone lists the targets. Tools are built from source at pinned versions (hack/tools/*.mod); nothing is installed.

SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# The race detector needs a C compiler: `make test RACE=` does without.
RACE ?= -race
# Everything that is built without the race detector is built in one way, so that with empty caches each dependency is
# compiled once for all of it. The tests do without vet, which would look through the dependencies each time: lint has it.
# Nobody debugs what is built here: without the tables of a debugger the compiler has a sixth less to do.
LEAN  := -gcflags=all=-dwarf=false
PLAIN := CGO_ENABLED=0 GOFLAGS='-trimpath $(LEAN)'
TEST  := hack/ci/twice -vet=off
# Whether `make build` builds the web UI where it can: `make build UI=` takes what web/dist has.
UI ?= yes
# What `make bench` measures; none lists the scenarios. QUICK=1 takes a small size, ARGS are further flags.
SCENARIO ?=
QUICK ?=
ARGS ?=
# What `make bench-core` measures, as a regular expression.
BENCH ?= .

GOLANGCI_LINT  := $(PLAIN) go tool -modfile=hack/tools/golangci-lint.mod golangci-lint
CONTROLLER_GEN := $(PLAIN) go tool -modfile=hack/tools/controller-gen.mod controller-gen

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/towline, one static binary, with the web UI where Node.js is there to build it
	@if [ -z '$(UI)' ]; then :; elif command -v npm >/dev/null; then $(MAKE) --no-print-directory ui; else echo 'there is no npm, and so no web UI in it'; fi
	$(PLAIN) go build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/towline ./cmd/towline

# What the packages need is fetched once for each lock file. Not npm ci: it refuses a lock without the programs of other
# platforms, which not every registry has.
web/node_modules/.package-lock.json: web/package-lock.json
	cd web && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm install --no-save
	@touch $@

UI_SOURCES := $(shell find web/src web/public web/index.html web/vite.config.ts web/tsconfig.json -type f 2>/dev/null)

web/dist/app/index.html: web/node_modules/.package-lock.json $(UI_SOURCES)
	cd web && npm run build

.PHONY: ui
ui: web/dist/app/index.html ## Build the web UI (Node.js 20), which the next build of towline carries

.PHONY: ui-unit
ui-unit: ui ## Test the functions of the web UI
	cd web && npm test

.PHONY: ui-test
ui-test: ui control-plane ## Test the web UI: its functions, then in chromium on a real control plane
	cd web && npm test
	$(PLAIN) go build -o bin/ui-towline ./cmd/towline
	$(PLAIN) go build -o bin/ui-stage ./test/ui/stage
	cd web && TOWLINE=$(CURDIR)/bin/ui-towline STAGE_PROGRAM=$(CURDIR)/bin/ui-stage npm run e2e -- $(ARGS)

.PHONY: ui-shots
ui-shots: ui control-plane ## Take pictures of every view of the web UI, into web/shots
	$(PLAIN) go build -o bin/ui-towline ./cmd/towline
	$(PLAIN) go build -o bin/ui-stage ./test/ui/stage
	cd web && TOWLINE=$(CURDIR)/bin/ui-towline STAGE_PROGRAM=$(CURDIR)/bin/ui-stage npm run shots -- $(ARGS)

.PHONY: test
test: ## Run the unit tests; needs no cluster and takes seconds
	@packages=$$(go list ./... | grep -v /test/) && GOFLAGS='-trimpath $(LEAN)' $(TEST) $(RACE) -short -- $$packages

.PHONY: control-plane
control-plane: ## Build the real control plane, into the cache (once, about ten minutes)
	$(PLAIN) go run ./hack/cluster build

# Each has a control plane of its own and mostly waits for it, so they run beside each other.
.PHONY: e2e
e2e: control-plane ## Run the end-to-end tests on a real control plane (its first build takes about ten minutes)
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target e2e-race truth

.PHONY: e2e-race
e2e-race:
	GOFLAGS='-trimpath $(LEAN)' $(TEST) $(RACE) -p 2 -parallel 4 -count=1 -timeout 40m -- ./test/e2e/... ./test/api/... ./test/gate/... ./internal/cluster/... ./internal/settings/... ./hack/cluster/...

# Some 500 runs of the command line: the race detector would only make them slow.
.PHONY: truth
truth:
	$(PLAIN) $(TEST) -count=1 -timeout 40m -- ./test/truth/...

# Most of a case is waiting, so many are played at once.
.PHONY: conformance
conformance: control-plane ## Play what users of Argo CD rely on, case by case, on a real control plane
	$(PLAIN) $(TEST) -count=1 -timeout 20m -parallel 12 $(ARGS) -- ./test/conformance/...

# The stock tools are built once, into the cache; what they print is compared with what our renderers print.
STOCK = $${TOWLINE_STOCK:-$${TOWLINE_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/towline}/stock}

.PHONY: stock
stock:
	@dir=$(STOCK) && mkdir -p "$$dir" && cd hack/stock && \
		go build -trimpath -ldflags '-X helm.sh/helm/v4/internal/version.version=v4.3.1' -o "$$dir/" tool

.PHONY: corpus
corpus: stock ## Hold our Helm and kustomize against the stock tools, on the charts and overlays of test/corpus
	@TOWLINE_STOCK=$(STOCK) go test -count=1 -timeout 10m ./test/corpus/... $(ARGS)

.PHONY: faults
faults: ## Kill the process before and after each write of a sync; CI does so at some of them
	$(PLAIN) go run ./hack/cluster build
	go test -count=1 -timeout 60m ./test/e2e -run TestKillAtEveryStep -v -faults.every=1 $(ARGS)

.PHONY: bench
bench: ## Measure on a real control plane: SCENARIO=name (none lists them), QUICK=1 for a small size
	@$(PLAIN) go build -o bin/bench ./bench
	@bin/bench $(SCENARIO) $(if $(SCENARIO),$(if $(QUICK),--quick) $(ARGS))

.PHONY: bench-core
bench-core: ## Measure the decisions in internal/core; BENCH=name picks some
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./internal/core/...

.PHONY: lint
lint: ## Check the code against .golangci.yml
	$(GOLANGCI_LINT) run

.PHONY: generate
generate: ## Write deepcopy functions and CRDs from api/
	$(CONTROLLER_GEN) object paths=./api/...
	$(CONTROLLER_GEN) crd:maxDescLen=0 paths=./api/... output:crd:dir=config/crd

.PHONY: verify
verify: verify-generated lint ## Prove that generated files and go.mod are current and that lint is silent

.PHONY: verify-generated
verify-generated:
	hack/ci/unchanged $(MAKE) --no-print-directory generate
	go mod tidy -diff

.PHONY: dev
dev: ## Start a development cluster with Towline in it
	@# Not go run, which ends with an error when it is interrupted.
	@go build -o bin/dev ./hack/dev
	@bin/dev
