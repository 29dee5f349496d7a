#!/usr/bin/env bash
# Makes a release out of a clean main: version, binaries, checksums, a bill of materials, commit and tag. Pushes nothing.
# Usage: scripts/release.sh [--dry-run] <version>
#   --dry-run   changes nothing: says what stands in the way, and prints what would be done
#
# Two binaries come out, because of librdkafka:
#   onrush-<version>-x86_64-linux            one process; static (musl): SQLite, ring and mimalloc are the C in it
#   onrush-cluster-<version>-x86_64-linux    with Redis, PostgreSQL, RabbitMQ and Kafka; linked dynamically to glibc
#                                            (libc, libm), libgcc_s and zlib: librdkafka's build does not cross to musl
set -euo pipefail
cd "$(dirname "$0")/.."

static_target=x86_64-unknown-linux-musl
cluster_target=x86_64-unknown-linux-gnu
cyclonedx_version=0.5.9

usage() {
  sed -n '2,4s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

dry=
version=
for argument in "$@"; do
  case $argument in
    --dry-run) dry=yes ;;
    -*) usage ;;
    *) [ -z "$version" ] || usage; version=$argument ;;
  esac
done
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || usage
tag=v$version
out=target/release-$version

failed=
# Something that stands in the way. A dry run names all of it and goes on.
stop() {
  echo "release: $*" >&2
  [ -n "$dry" ] || exit 1
  failed=yes
}

# Does it, or says so.
run() {
  if [ -n "$dry" ]; then
    printf '  would run:'
    printf ' %q' "$@"
    printf '\n'
  else
    "$@"
  fi
}

step() { printf '\n== %s\n' "$*"; }

# The lines of CHANGELOG.md about this version, without its heading.
changes() {
  awk -v version="$version" '
    /^## / { inside = ($2 == version); next }
    inside' CHANGELOG.md
}

step "checks"
branch=$(git symbolic-ref --quiet --short HEAD || echo "no branch")
[ "$branch" = main ] || stop "this is $branch; releases are made on main"
[ -z "$(git status --porcelain)" ] || stop "the tree is not clean: git status says what is in it"
! git rev-parse --quiet --verify "refs/tags/$tag" >/dev/null || stop "the tag $tag is there already"
[ ! -e "$out" ] || stop "$out is there already"
grep -q "^## $version\( \|\$\)" CHANGELOG.md || stop "CHANGELOG.md has no section '## $version'"
[ "$(changes | grep -c '[^[:space:]]')" -gt 0 ] || stop "CHANGELOG.md says nothing about $version"
[ -z "$failed" ] && echo "main is clean, $tag is free, CHANGELOG.md has $(changes | grep -c '^- ') changes"

step "tools"
if [ -n "$dry" ]; then
  for tool in cargo cc npm musl-gcc; do
    command -v "$tool" >/dev/null || echo "  missing here: $tool"
  done
  cargo cyclonedx --version >/dev/null 2>&1 || echo "  missing here: cargo-cyclonedx; would be installed with: cargo install --locked cargo-cyclonedx@$cyclonedx_version"
else
  scripts/need.sh cargo cc npm
  command -v musl-gcc >/dev/null || stop "onrush needs musl-gcc for the static binary. On Debian or Ubuntu: sudo apt-get install musl-tools"
  rustup target add "$static_target"
  cargo cyclonedx --version >/dev/null 2>&1 || cargo install --locked "cargo-cyclonedx@$cyclonedx_version"
fi

# Whatever fails between here and the tag leaves main as it was.
before=$(git rev-parse HEAD)
tagged=
versioned=(Cargo.toml Cargo.lock web/openapi.json deploy/helm/onrush/Chart.yaml CHANGELOG.md)
work=
clean_up() {
  local code=$?
  [ -z "$work" ] || rm -rf "$work"
  if [ "$code" != 0 ] && [ -z "$dry$tagged" ]; then
    git checkout --quiet HEAD -- "${versioned[@]}"
    git reset --quiet --keep "$before"
    rm -rf "$out"
    echo "release: stopped; ${versioned[*]} and main are as they were" >&2
  fi
}
trap clean_up EXIT

step "version"
old=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
echo "$old -> $version in ${versioned[*]}"

# Edits a file in place, or shows what would become of it.
edit() {
  local file=$1 script=$2
  if [ -n "$dry" ]; then
    sed "$script" "$file" | diff --unified=0 --label "$file" --label "$file" "$file" - || true
  else
    sed --in-place "$script" "$file"
  fi
}
edit Cargo.toml "/^\[workspace.package\]/,/^\[/s/^version = \".*\"\$/version = \"$version\"/"
# The pages' copy of the OpenAPI document: a test holds it against the server's own.
edit web/openapi.json "/^  \"info\": {/,/^  }/s/^\(    \"version\": \)\"[^\"]*\"/\1\"$version\"/"
# The chart runs the image of its appVersion.
edit deploy/helm/onrush/Chart.yaml "s/^version: .*/version: $version/; s/^appVersion: .*/appVersion: \"$version\"/"
edit CHANGELOG.md "s/^## $version (not released)\$/## $version ($(date -u +%F))/"
# Takes the members' new version into the lock file, and nothing else.
run cargo update --workspace --quiet
if [ -z "$dry" ]; then
  said=$(cargo metadata --locked --no-deps --format-version 1 | grep -o '"name":"onrush","version":"[^"]*"')
  [ "$said" = "\"name\":\"onrush\",\"version\":\"$version\"" ] || stop "cargo does not say $version"
  grep -q "^    \"version\": \"$version\"" web/openapi.json || stop "web/openapi.json does not say $version"
  [ "$(grep -c -e "^version: $version\$" -e "^appVersion: \"$version\"\$" deploy/helm/onrush/Chart.yaml)" = 2 ] ||
    stop "deploy/helm/onrush/Chart.yaml does not say $version"
  grep -q "^## $version ([0-9-]*)\$" CHANGELOG.md || stop "CHANGELOG.md has no date for $version"
fi

step "commit"
# Before the binaries, which say their commit.
run git add -- "${versioned[@]}"
if [ -n "$dry" ] || ! git diff --cached --quiet; then
  run git commit --quiet -m "release: $version"
fi
commit=$(git rev-parse --short=10 HEAD)

step "binaries"
# Lines of the source in a backtrace are not worth their size here.
export CARGO_PROFILE_RELEASE_STRIP=symbols CARGO_PROFILE_RELEASE_DEBUG=false
export CC_x86_64_unknown_linux_musl=musl-gcc
one=onrush-$version-x86_64-linux
cluster=onrush-cluster-$version-x86_64-linux
run scripts/pages.sh
run cargo build --release --locked -p onrush --target "$static_target"
run cargo build --release --locked -p onrush --features cluster --target "$cluster_target"
built=target
# A dry run goes on without Cargo, and has nobody to ask then.
if [ -z "$dry" ] || command -v cargo >/dev/null; then built=$(scripts/target_dir.sh); fi
run mkdir -p "$out"
run cp "$built/$static_target/release/onrush" "$out/$one"
run cp "$built/$cluster_target/release/onrush" "$out/$cluster"
if [ -n "$dry" ]; then
  echo "  would check that both say $version, and that $one asks for no library"
else
  for binary in "$one" "$cluster"; do
    [ "$("$out/$binary" --version)" = "onrush $version ($commit)" ] || stop "$binary does not say $version ($commit)"
  done
  # A static binary names no interpreter and no library.
  if readelf --program-headers "$out/$one" | grep -q INTERP; then stop "$one is not static"; fi
  needed=$(readelf --dynamic "$out/$cluster" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | paste -sd' ')
  glibc=$(readelf --version-info "$out/$cluster" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n1)
  printf '%s needs: %s (%s or later)\n' "$cluster" "$needed" "$glibc" | tee "$out/LINKED.txt"
fi

step "bill of materials"
# cargo-cyclonedx writes beside each Cargo.toml, so it works in a copy.
if [ -n "$dry" ]; then
  echo "  would run in a copy of the tree, for each binary with its target and features:"
  echo "    cargo cyclonedx --format json --target TARGET [--features cluster] --override-filename onrush"
  echo "  would keep crates/onrush/onrush.json as $out/$one.cdx.json and $out/$cluster.cdx.json"
else
  work=$(mktemp -d)
  git ls-files -z | tar --null -cf - -T - | tar -xf - -C "$work"
  bill() {
    local target=$1 binary=$2
    (cd "$work/crates/onrush" && cargo cyclonedx --quiet --format json --target "$target" --override-filename onrush "${@:3}")
    mv "$work/crates/onrush/onrush.json" "$out/$binary.cdx.json"
    grep -q '"bomFormat": *"CycloneDX"' "$out/$binary.cdx.json" || stop "$binary.cdx.json is no bill of materials"
  }
  bill "$static_target" "$one"
  bill "$cluster_target" "$cluster" --features cluster
fi

step "notes and checksums"
if [ -n "$dry" ]; then
  echo "  would write $out/NOTES.md from CHANGELOG.md ($(changes | wc -l) lines), and $out/SHA256SUMS of all files there"
else
  changes >"$out/NOTES.md"
  (cd "$out" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS && sha256sum --check --quiet SHA256SUMS)
fi

step "tag"
run git tag --annotate "$tag" -m "Onrush $version"

if [ -n "$dry" ]; then
  printf '\nnothing was changed\n'
  [ -z "$failed" ] || exit 1
else
  printf '\n%s has everything. To publish: git push origin main %s\n' "$out" "$tag"
fi
