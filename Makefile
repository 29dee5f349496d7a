.PHONY: demo check test bench pages

# Builds Onrush and its pages, sells out an arena to 20,000 fans over real HTTP, and goes on with an encore.
demo:
	@scripts/need.sh cargo cc && scripts/pages.sh --if-possible && scripts/demo.sh

# What one runs before a commit, in minutes: format, lints, tests that need no server, the pages' types.
check:
	@scripts/need.sh cargo cc npm && scripts/check.sh

# Installs what the tests need and runs everything.
test:
	@scripts/need.sh cargo cc python3 schemathesis aiosmtpd cargo-deny redis-server postgres rabbitmq-server kafka openssl pebble faketime promtool helm kubernetes-validate systemd-analyze npm oidc-provider chromium && scripts/test.sh

# Measures what docs/benchmarks.md reports, but for what needs a browser, the demo, and runs with other choices.
bench:
	@scripts/need.sh cargo cc redis-server postgres && scripts/bench.sh

# Builds the pages for buyers and organisers, which the next build of the binary takes in.
pages:
	@scripts/pages.sh
