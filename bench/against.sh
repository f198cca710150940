#!/usr/bin/env bash
# Has Dyno become slower than an older build of itself? The script runs both in turn, for what users wait for or pay for: a start, a digest of a
# log, load on a server, a second of watching. Dyno is bound to the first CPU and the server to the last. Ratios are new by old costs, medians
# over the pairs with their range: below 1 is better. What the machine itself varies by, a build compared with a copy of itself shows. It
# needs root, sysbench, taskset, two CPUs and an otherwise idle machine. If DYNO_TEST_MYSQL is set, it uses MySQL too.
#
#   bench/against.sh ../old/bin/dyno                        about 6 minutes per server
#   AGAINST_ROUNDS=4 AGAINST_TIME=3 bench/against.sh OLD    a quick run
#
# AGAINST_ROUNDS  pairs of runs (10)     AGAINST_TIME  seconds of a load (5)     AGAINST_MB  size of the log (200)
# AGAINST_CASES   regular expression for the work to do, as in the table (all)
set -euo pipefail
OLD=$(realpath "${1:?the older program}")
cd "$(dirname "$0")/.."
if [ -z "${DYNO:-}" ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	build/compile "$dir/dyno"
	DYNO=$dir/dyno
fi
DYNO=$(realpath "$DYNO")
export DYNO OLD
build/go test -tags bench -count=1 -timeout 6h -run '^TestAgainst$' -v ./bench | grep --line-buffered -v '^=== \|^ *--- \|^ok\|^PASS'
