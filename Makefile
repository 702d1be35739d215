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

# Interleaved comparisons with pgbench and with a bare loop; prints ratios. Takes about ten minutes.
peers: deps
	cargo build --release --examples
	./scripts/peers.sh
