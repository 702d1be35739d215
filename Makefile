# The two commands of a newcomer are `cargo run --release` and `make test`.

# Modules of tests/it that need no server, no browser and no office program.
FAST = architecture cli_errors cli_output cli_pages cli_reports cli_run heatmaps probes published_reports reports runner \
       sizes store suites summaries
# What does need one in these modules, or many seconds.
SLOW = a_port_in_use a_reader_that_went_away a_run_goes_on a_busy_neighbor repetitions_run \
       a_test_runs_until a_noisy_test an_error_line_stays

# Most of what a test of a server does is waiting for it.
THREADS = $(shell expr $$(nproc) + 5)

.PHONY: run test test-fast check deps peers oracle

run:
	cargo run --release

# Installs what the tests need (only what is missing), then runs all of them.
test: deps
	cargo test --workspace --lib --bins
	cargo build --workspace --test it --bin peers
	RUST_TEST_THREADS=$(THREADS) ./scripts/with-server-templates.sh ./scripts/with-skips.sh ./scripts/failed-again-alone.sh cargo test --test it

# A part of it for in between: installs nothing, starts no server.
test-fast:
	cargo test --workspace --lib
	cargo test --test it -- $(FAST:%=%::) $(SLOW:%=--skip %)

check:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy --no-default-features --features sqlite -- -D warnings

deps:
	./scripts/test-dependencies.sh

# Checks of Oracle's texts without a server of Oracle: two grammars accept them, one refuses mutants, the routines, translated, do on PostgreSQL
# what its own do. Some minutes; a part of it: make oracle NAME=routines, ORACLE_FILE=workloads/lgwr make oracle
oracle:
	./scripts/oracle-dependencies.sh
	cargo test --test it -- oracle_sql::$(NAME) --include-ignored --nocapture $(ARGS)

# Interleaved comparisons with pgbench and with bare loops; prints ratios. Takes about ten minutes; a part of it:
# make peers ARGS="client --jobs 2", make peers ARGS="rows25 commit --jobs 2"; all options: make peers ARGS=--help
peers:
	./scripts/test-dependencies.sh --peers
	cargo run --release --package dbdyno-tools --bin peers -- $(ARGS)

# Counts and times beside those of programs and counters of others, as tables; it fails if a count differs without a reason.
# Takes about ten minutes; a part of it: make witness ARGS="postgres --workload LGWR --turns 0"; all options: --help
.PHONY: witness
witness:
	./scripts/test-dependencies.sh --peers
	cargo run --release --package dbdyno-tools --bin witness -- $(ARGS)

# What comparisons say of pairs of equal quick runs on fresh servers, and of losses of our own making. Ten pairs on three
# engines take more than two hours of a quiet machine; a part of it: make pairs ARGS="sqlite --pairs 1"
.PHONY: pairs
pairs:
	cargo build --release
	cargo run --release --package dbdyno-tools --bin pairs -- $(ARGS)

# The 40 tests that take the most of a processor, with all that they start, each alone. As long as all tests take; some of
# them: DBDYNO_TEST_SLOWEST="engine_contract private_server" make slowest
.PHONY: slowest
slowest: deps
	cargo test --test it -- --exact slowest::tests_by_processor_time --include-ignored --nocapture

# The independent checks of the instrument alone (part of `make test`).
.PHONY: instrument
instrument: deps
	cargo test --test it -- instrument::

# What dbdyno is made of: licences, sources, duplicates, and the published advisories (needs the
# network and cargo-deny: cargo install cargo-deny). tests/it/supply_chain.rs holds the first three.
.PHONY: deny
deny:
	cargo deny check

# The guide of docs/guide as a site that can be searched without a network: target/guide/index.html (needs Python 3 and PyPI).
.PHONY: guide
guide:
	./scripts/guide.sh

# What a release consists of, into target/dist: archive, .deb, wheel, OCI image, bill of materials, SHA256SUMS. As root (the
# image); a part of it: make dist PARTS="archive deb". The same for ARM, without the image: DIST_ARCH=aarch64 make dist
.PHONY: dist dist-test
dist:
	./scripts/dist/all.sh $(PARTS)

# Each artefact as a user would use it: in clean root file systems of Debian, a virtual environment, the image's entry point.
# Also that a second build is equal: make dist-test PARTS=again. The program for ARM, emulated: make dist-test PARTS=aarch64
dist-test:
	./scripts/dist/test.sh $(PARTS)

# A sample of the static site: published studies and short runs of every engine of this host, into target/site. About ten minutes.
.PHONY: site
site:
	./scripts/site.sh
