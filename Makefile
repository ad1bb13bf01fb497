# Everything a newcomer needs: `make run` and `make test` set themselves up from nothing.

PYTHON ?= python3
BIN := .venv/bin
CONSOLE := api/console
CLIENTS := tests/clients
SAMPLE := data/sample/ebb_tide_post.json

RUNTIME := .venv/.runtime
DEVELOPMENT := .venv/.development
NODE_MODULES := $(CONSOLE)/node_modules/.installed
PAGES := api/static/graphiql.html
CLIENT_MODULES := $(CLIENTS)/node_modules/.installed

.DELETE_ON_ERROR:
.PHONY: run test lint types layers unit browser format schema bench lock clean

run: $(RUNTIME) $(PAGES) ## Serve on http://127.0.0.1:8000 with the sample book.
	$(BIN)/loregraph serve --sample $(SAMPLE)

test: lint types layers unit ## Everything the project checks about itself.

lint: $(DEVELOPMENT)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(DEVELOPMENT)
	$(BIN)/mypy

layers: $(DEVELOPMENT)
	$(BIN)/lint-imports

# Most tests wait for servers and disks, so more of them run at once than there are cores.
unit: $(DEVELOPMENT) $(PAGES) $(CLIENT_MODULES) browser
	$(BIN)/pytest -n 4 --dist worksteal --cov --cov-report=term

browser: ## The page tests drive the system's Chromium.
	@command -v chromium >/dev/null \
	  || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; } \
	  || { echo "The page tests need Chromium: install the package 'chromium' and try again."; exit 1; }

format: $(DEVELOPMENT) ## Format the code and write the schema snapshot.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python -m schema > schema/schema.graphql

bench: $(DEVELOPMENT) ## Measure; see tests/bench/README.md. DATA=DIR adds what needs novels.
	$(BIN)/python -m tests.bench $(if $(DATA),--data $(DATA))

lock: $(DEVELOPMENT) ## Take the newest versions that pyproject.toml allows.
	$(BIN)/pip install -q uv
	$(BIN)/uv pip compile -q --upgrade --no-header pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile -q --upgrade --no-header pyproject.toml --extra dev -c requirements.lock -o requirements-dev.lock

clean:
	rm -rf .venv $(CONSOLE)/node_modules $(CLIENTS)/node_modules api/static

$(RUNTIME): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install -q --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install -q --disable-pip-version-check --no-deps -e .
	touch $@

$(DEVELOPMENT): requirements-dev.lock $(RUNTIME)
	$(BIN)/pip install -q --disable-pip-version-check -r requirements-dev.lock
	touch $@

$(NODE_MODULES) $(CLIENT_MODULES): %/node_modules/.installed: %/package-lock.json
	cd $* && npm ci --ignore-scripts --no-audit --no-fund --silent
	touch $@

$(PAGES): $(NODE_MODULES) $(wildcard $(CONSOLE)/*.html $(CONSOLE)/*.ts $(CONSOLE)/src/*)
	cd $(CONSOLE) && npm run --silent build
	touch $@
