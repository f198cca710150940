#!/usr/bin/env bash
# Does `dyno serve` survive? The script runs it on real servers, one of them hostile, with a small disk. Meanwhile the servers restart, a jump
# host goes and returns, the clock steps forward and back by a year, Dyno is killed with -9, and the disk of all stores fills up. At the end it
# runs `dyno store check` and reports the missing seconds that have no excuse. It needs root, for the small disk.
#
#   bench/soak.sh            30 minutes
#   SOAK=5m bench/soak.sh    a quick run
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${DYNO:-}" ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	GOFLAGS=-tags=soak build/compile "$dir/dyno" # its clock can be set
	DYNO=$dir/dyno
fi
DYNO=$(realpath "$DYNO")
export DYNO
DYNO_TEST_MYSQL=$(build/mysql)
DYNO_TEST_SSHD=$(build/sshd)
export DYNO_TEST_MYSQL DYNO_TEST_SSHD
build/go test -tags bench -count=1 -timeout 12h -run '^TestSoak$' -v ./bench | grep --line-buffered -v '^=== '
