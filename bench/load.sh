#!/usr/bin/env bash
# What the load generator costs beside sysbench: interleaved runs of both on the same server and data, each placed on fixed CPUs. Needs
# root, sysbench and taskset, and a machine where nothing else runs. With DYNO_TEST_MYSQL set, MySQL too.
#
#   bench/load.sh                                    3 rounds of 5 s, all cases: about 10 minutes a server
#   LOAD_ROUNDS=9 LOAD_TIME=10 bench/load.sh         surer
#   LOAD_CASES='shared.*point' LOAD_PREPARE=0 LOAD_TPCC=0 bench/load.sh
#
# LOAD_SERVERS   which of mariadb and mysql ("mariadb mysql", or "mariadb" where no MySQL is named)
# LOAD_CASES     expression for the cases to run, "PLACEMENT WORKLOAD THREADS" as the table has them (all)
# LOAD_ROUNDS    pairs of runs in each case (3)            LOAD_TIME    seconds a run, after one more of each to warm up (5)
# LOAD_TABLES    (4) and LOAD_SIZE rows in each (100000)   LOAD_OPTIONS more options for both, such as --rand-type=uniform
# LOAD_PREPARE   pairs of preparations (3), 0 for none     LOAD_ROWS    rows in their table (1000000)
# LOAD_TPCC      pairs of TPC-C-like runs (3), 0 for none  LOAD_SCALE   warehouses (2); SYSBENCH_TPCC is the folder of sysbench-tpcc
# LOAD_DYNO      options for Dyno alone, such as --driver
set -euo pipefail
cd "$(dirname "$0")/.."
for need in sysbench taskset; do
	command -v $need >/dev/null || { echo "bench/load.sh needs $need" >&2; exit 1; }
done
if [ -z "${DYNO:-}" ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	build/compile "$dir/dyno"
	DYNO=$dir/dyno
fi
DYNO=$(realpath "$DYNO")
export DYNO
build/go test -tags bench -count=1 -timeout 6h -run '^TestLoad$' -v ./bench | grep --line-buffered -v '^=== \|^ *--- \|^ok\|^PASS'
