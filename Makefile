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
# What `make bench` measures; none is every scenario at a small size. QUICK=1 takes a small size, ARGS are further flags.
SCENARIO ?=
QUICK ?=
ARGS ?=
# Which part of the situations of test/truth the end-to-end tests play, such as 1/3; all without it.
PART ?=
# Which of examples/ `make dev` boots; none is a small sample.
EXAMPLE ?=
# What `make bench-core` measures, as a regular expression.
BENCH ?= .

GOLANGCI_LINT  := $(PLAIN) go tool -modfile=hack/tools/golangci-lint.mod golangci-lint
CONTROLLER_GEN := $(PLAIN) go tool -modfile=hack/tools/controller-gen.mod controller-gen

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# What everything here needs, and the way out for who does not have it. From 1.21 on, go fetches a newer one by itself.
.PHONY: go
go:
	@command -v go >/dev/null || { echo 'there is no go on the PATH: install Go 1.26 or later, https://go.dev/dl has it'; exit 1; }
	@case "$$(go env GOVERSION)" in go1.[0-9]|go1.[0-9].*|go1.1[0-9]*|go1.20*) \
		echo "$$(command -v go) is $$(go env GOVERSION), as some distributions have it: install Go 1.26 or later, https://go.dev/dl has it"; exit 1; esac

.PHONY: build
build: go ## Build bin/towline, one static binary, with the web UI where Node.js is there to build it
	@if [ -z '$(UI)' ]; then :; \
	elif ! command -v npm >/dev/null; then echo 'there is no npm, and so no web UI in it: Node.js 20 or later has one'; \
	elif [ "$$(node -p 'process.versions.node.split(".")[0]')" -lt 20 ]; then \
		echo "node is $$(node --version), and so there is no web UI in it: that needs Node.js 20 or later"; \
	else $(MAKE) --no-print-directory ui || { echo 'the web UI could not be built; "make build UI=" does without'; exit 1; }; fi
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

# One short test of each page, with axe, in a minute: for the while in which one works on a page.
.PHONY: ui-quick
ui-quick: ui control-plane
	$(PLAIN) go build -o bin/ui-towline ./cmd/towline
	$(PLAIN) go build -o bin/ui-stage ./test/ui/stage
	cd web && TOWLINE=$(CURDIR)/bin/ui-towline STAGE_PROGRAM=$(CURDIR)/bin/ui-stage npm run e2e -- --grep @quick $(ARGS)

.PHONY: ui-shots
ui-shots: ui control-plane ## Take pictures of every view of the web UI, into docs/ui/shots
	$(PLAIN) go build -o bin/ui-towline ./cmd/towline
	$(PLAIN) go build -o bin/ui-stage ./test/ui/stage
	cd web && TOWLINE=$(CURDIR)/bin/ui-towline STAGE_PROGRAM=$(CURDIR)/bin/ui-stage npm run shots -- $(ARGS)
	$(PLAIN) go run ./test/ui/pictures docs/ui/shots

.PHONY: test
test: go ## Run the unit tests; needs no cluster and takes seconds
	@packages=$$(go list ./... | grep -v /test/) && GOFLAGS='-trimpath $(LEAN)' $(TEST) $(RACE) -short -- $$packages

.PHONY: control-plane
control-plane: go ## Build the real control plane, into the cache (once, about ten minutes)
	$(PLAIN) go run ./hack/cluster build

# Each package has a control plane of its own and waits for it at times, so they run beside each other. The race detector
# is in the tests that are inside of the process, and in the program that some of those outside run (test/e2e says which).
.PHONY: e2e
e2e: control-plane ## Run the end-to-end tests on a real control plane (its first build takes about ten minutes)
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target e2e-outside e2e-inside
	@echo 'NOTE: the rules and the dashboard were not loaded in a real Prometheus, which takes minutes to build: make monitoring does that.'

.PHONY: e2e-outside
e2e-outside:
	TOWLINE_RACE=$(RACE) TOWLINE_TRUTH_PART=$(PART) $(PLAIN) $(TEST) -p 2 -parallel 4 -count=1 -timeout 40m -- ./test/e2e/... ./test/truth/... ./test/api/...

.PHONY: e2e-inside
e2e-inside:
	GOFLAGS='-trimpath $(LEAN)' $(TEST) $(RACE) -p 1 -parallel 4 -count=1 -timeout 40m -- ./internal/cluster/... ./internal/settings/... ./test/gate/... ./hack/cluster/...

.PHONY: truth
truth: control-plane ## Ask the real server, in some 300 situations, whether what is said is true; CI does so in a third
	$(PLAIN) $(TEST) -count=1 -timeout 40m $(ARGS) -- ./test/truth/...

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

.PHONY: takeover
takeover: stock ## Take over from a real Argo CD and give back: TOWLINE_ARGOCD is its binary; needs redis-server
	@TOWLINE_ARGOCD_TOOLS=$(STOCK) go test -count=1 -timeout 90m -v ./test/takeover/... $(ARGS)

# Prometheus without the ways to find targets that nobody here has: those of clouds are most of it.
MONITORING = $${TOWLINE_MONITORING:-$${TOWLINE_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/towline}/monitoring}

.PHONY: monitoring
monitoring: control-plane ## Load our rules and dashboard in a real Prometheus, and see an alert fire (its first build takes minutes)
	@dir=$(MONITORING) && mkdir -p "$$dir" && cd hack/monitoring && $(PLAIN) go build -tags remove_all_sd -o "$$dir/" tool
	@TOWLINE_MONITORING=$(MONITORING) $(PLAIN) go test -vet=off -count=1 -timeout 10m ./test/e2e -run 'TestMonitoring$$' -v $(ARGS)

.PHONY: faults
faults: ## Kill the process before and after each write of a sync; CI does so at some of them
	$(PLAIN) go run ./hack/cluster build
	go test -count=1 -timeout 60m ./test/e2e -run TestKillAtEveryStep -v -faults.every=1 $(ARGS)

.PHONY: bench
bench: control-plane bench-build ## Measure on a real control plane, every scenario at a small size; SCENARIO=name is one at full size (QUICK=1 at a small one)
	@bin/bench $(if $(SCENARIO),$(SCENARIO) $(if $(QUICK),--quick),all --quick) $(ARGS)

.PHONY: bench-full
bench-full: control-plane bench-build ## Measure every scenario at full size, which takes hours, and write docs/performance.md
	@bin/bench all $(ARGS); ended=$$?; bin/bench report; exit $$ended

# The scenario of the pages needs them in the program that it measures.
.PHONY: bench-build
bench-build: $(if $(filter ui,$(SCENARIO)),ui,$(if $(SCENARIO),,$(if $(shell command -v npm),ui)))
	@$(PLAIN) go build -o bin/bench ./bench

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
dev: go ## Start a development cluster with Towline in it; EXAMPLE=homelab or platform boots that example
	@# Not go run, which ends with an error when it is interrupted. What go says is shown, and its packages are counted.
	@echo '• building bin/dev, which does the rest (minutes the first time)'
	@$(PLAIN) go build -v -o bin/dev ./hack/dev 2>&1 | { n=0; while read -r line; do \
		case "$$line" in *' '*) echo "$$line" ;; *) n=$$((n + 1)); [ $$((n % 20)) != 0 ] || echo "    $$n packages compiled" ;; esac; done; }
	@# A pipe ends as its last part does: here the rest stops where that did not go well.
	@$(PLAIN) go build -o bin/dev ./hack/dev
	@EXAMPLE='$(EXAMPLE)' $(PLAIN) bin/dev
