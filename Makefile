# The two commands of a newcomer are `cargo run --release` and `make test`.

.PHONY: run test check deps peers

run:
	cargo run --release

# Installs what the tests need (only what is missing), then runs all of them.
test: deps
	cargo test --all-targets

check:
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	cargo clippy --no-default-features --features sqlite -- -D warnings

deps:
	./scripts/test-dependencies.sh

# Interleaved comparisons with pgbench and with bare loops; prints ratios. Takes about ten minutes; a part of it:
# make peers ARGS="client --jobs 2", make peers ARGS="rows25 commit --jobs 2"; all options: make peers ARGS=--help
peers:
	./scripts/test-dependencies.sh --peers
	cargo run --release --example peers -- $(ARGS)
