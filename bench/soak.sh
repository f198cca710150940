#!/usr/bin/env bash
# What survives: `dyno serve` on real servers and a small disk, with a hostile server among them, while the servers are restarted, a jump host
# goes and comes, the clock steps by a year to and fro, it is killed with -9, and the disk of all stores fills up. It ends with
# `dyno store check`, and with the seconds that are missing though nothing excuses it. Needs root, for the small disk.
#
#   bench/soak.sh            30 minutes
#   SOAK=5m bench/soak.sh    a quick look
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
