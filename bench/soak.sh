#!/usr/bin/env bash
# What survives: `dyno serve` on two real servers and a small disk, while the servers are restarted, it is killed with -9, and the disk fills up.
# It ends with `dyno store check`, and with the seconds that are missing though nothing excuses it. Needs root, for the small disk.
#
#   bench/soak.sh                   30 minutes
#   SOAK_MINUTES=5 bench/soak.sh    a quick look
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${DYNO:-}" ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	build/compile "$dir/dyno"
	DYNO=$dir/dyno
fi
DYNO=$(realpath "$DYNO")
export DYNO
DYNO_TEST_MYSQL=$(build/mysql)
export DYNO_TEST_MYSQL
build/go test -tags bench -count=1 -timeout 12h -run '^TestSoak$' -v ./bench | grep --line-buffered -v '^=== '
