#!/usr/bin/env bash
# What watching costs, beside mysqld_exporter in the same run: CPU of client and server per scrape, source by source for the status,
# InnoDB metrics and digests, for all that is on by default and for every source; throughput lost at saturation; 200 targets at once.
# The exporter is Debian's package, unpacked: nothing is installed and no service starts. Needs taskset, two CPUs, and for sure figures a
# machine where nothing else runs.
#
#   bench/observe.sh                                  5 rounds of windows of 20 s: about 12 minutes a server
#   WINDOW=10s ROUNDS=3 SERVERS=mariadb bench/observe.sh
#   PARTS=TestObserveTargets bench/observe.sh         one part alone
#
# WINDOW   length of a window (20s)           ROUNDS   windows of each kind, in an order drawn anew in each round (5)
# SERVERS  which of mariadb and mysql ("mariadb mysql", or "mariadb" where no MySQL is named)
# CPU      the CPU that server and client are bound to while their CPU time is measured, "" for none (1)
# BLOCKS   pairs of blocks with and without watching of the throughput (12), 0 for none; BLOCK is how long each is (5s)
# TARGETS  recorded streams that are watched at once (200), 0 for none; FOR is how long (60s), after WARM (20s)
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${EXPORTER:-}" ]; then
	EXPORTER=$(build/peers)/usr/bin/prometheus-mysqld-exporter
fi
if [ -n "${DYNO_TEST_MYSQL:-}" ]; then SERVERS=${SERVERS:-mariadb mysql}; fi
export EXPORTER WINDOW="${WINDOW:-20s}" ROUNDS="${ROUNDS:-5}" SERVERS="${SERVERS:-mariadb}" BLOCKS="${BLOCKS:-12}" BLOCK="${BLOCK:-5s}" TARGETS="${TARGETS:-200}" FOR="${FOR:-60s}" WARM="${WARM:-20s}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
build/go test -tags bench -c -o "$dir/bench" ./bench
cd bench
quiet() { grep --line-buffered -v '^=== \|^ *--- \|^ok\|^PASS'; }
parts=${PARTS:-TestObserveCost TestObserveThroughput TestObserveTargets}
for part in $parts; do
	bound=()
	if [ "$part" = TestObserveCost ] && [ -n "${CPU-1}" ]; then bound=(taskset -c "${CPU-1}"); fi
	"${bound[@]}" "$dir/bench" -test.count=1 -test.timeout 3h -test.run "^$part\$" -test.v | quiet
done
