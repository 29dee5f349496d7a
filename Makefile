.PHONY: demo test bench

# Builds Onrush and sells out an arena to 20,000 fans over real HTTP.
demo:
	@scripts/need.sh cargo cc && cargo run --release --locked --quiet -- demo

# Installs what the tests need and runs everything.
test:
	@scripts/need.sh cargo cc python3 schemathesis aiosmtpd redis-server postgres rabbitmq-server kafka faketime && scripts/test.sh

# Measures everything that docs/benchmarks.md reports.
bench:
	@scripts/need.sh cargo cc redis-server postgres && scripts/bench.sh
