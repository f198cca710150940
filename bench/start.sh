#!/usr/bin/env bash
# What does a start of the released program cost? Prints the CPU time of `dyno --help`, the minimum of 12 runs. Needs a quiet machine. Exits
# with 1 above the limit.
set -euo pipefail
cd "$(dirname "$0")/.."
bound=30 # ms
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
build/compile "$dir/dyno"
least=
for _ in $(seq 12); do
	TIMEFORMAT='%3U %3S'
	spent=$({ time "$dir/dyno" --help >/dev/null 2>&1; } 2>&1)
	ms=$(awk '{ printf "%d", ($1 + $2) * 1000 }' <<<"$spent")
	if [ -z "$least" ] || [ "$ms" -lt "$least" ]; then least=$ms; fi
done
echo "CPU of a start: $least ms (min of 12), limit $bound ms"
[ "$least" -le "$bound" ]
