# The commands that people use. CI runs .ci/run, which does the same and more.

CACHE ?= .cache/corpus
GOLANGCI_VERSION := v2.15.0

.PHONY: build test race lint fuzz docs corpus corpus-ci bench

build: ## the program, as ./ccgate
	CGO_ENABLED=0 go build -trimpath -o ccgate ./cmd/ccgate

test: ## everything that needs no network
	go test ./...

race:
	go test -race ./...

lint: ## formatting, vet and the linters
	test -z "$$(git ls-files -z "*.go" | xargs -0 gofmt -l)"
	go vet ./...
	go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION) run

FUZZTIME ?= 10s
fuzz: ## each fuzz target for FUZZTIME
	./.ci/fuzz $(FUZZTIME)

docs: ## golden files and generated pages
	go test ./cmd/ccgate/... ./matrix ./rules -update

corpus: ## fetch all named packages, build images from them, and test against them (about 12 GB)
	./.ci/corpus all $(CACHE)

corpus-ci: ## the same with the subset that CI uses (at most 4 GB)
	./.ci/corpus ci $(CACHE)

bench: ## listing one file, against NVIDIA's dumper, side by side
	testdata/corpus/bench.sh $(CACHE)
