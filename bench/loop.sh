#!/usr/bin/env bash
# How long until something is seen: seconds from `dyno demo` to the first live figures, from the start of the load to the finding, and
# for a second `sandbox up`. Each is measured RUNS times (5) and printed as minimum, median and maximum.
#
#   bench/loop.sh [SERVER…]       default: mariadb, and mysql@9.7 when it is installed
set -euo pipefail
cd "$(dirname "$0")/.."
dyno=${DYNO:-bin/dyno}
runs=${RUNS:-5}
DYNO_HOME=$(mktemp -d /var/tmp/dyno-bench-XXXXXX)
export DYNO_HOME
chmod 755 "$DYNO_HOME"
trap '"$dyno" sandbox rm --all || true; rm -rf "$DYNO_HOME"' EXIT

dirs=()
[ -z "${DYNO_TEST_MYSQL:-}" ] || dirs=(--server-dir "$DYNO_TEST_MYSQL")
servers=("$@")
if [ ${#servers[@]} = 0 ]; then
	servers=(mariadb)
	if "$dyno" sandbox servers "${dirs[@]}" | grep -q '^mysql@9\.7'; then servers+=(mysql@9.7); fi
fi

spread() { sort -n | awk '{v[NR]=$1} END {printf "%.2f / %.2f / %.2f s (n=%d)\n", v[1], (v[int((NR+1)/2)]+v[int(NR/2)+1])/2, v[NR], NR}'; }
field() { grep -o "\"$1\":[0-9.]*" | cut -d: -f2; }

echo "$(nproc) CPUs, load before: $(cut -d' ' -f1-3 /proc/loadavg), $("$dyno" --version)"
for s in "${servers[@]}"; do
	"$dyno" sandbox up warm --server "$s" "${dirs[@]}" --quiet >/dev/null
	"$dyno" sandbox rm warm
	out=$DYNO_HOME/demo.jsonl
	: >"$out"
	for _ in $(seq "$runs"); do
		"$dyno" demo missing-index --server "$s" "${dirs[@]}" --no-cure --output json | tail -n 1 >>"$out"
	done
	printf '%-10s demo to first live figures  ' "$s"; field first_live_s <"$out" | spread
	printf '%-10s load to finding             ' "$s"; field finding_s <"$out" | spread
	printf '%-10s found                       %s of %s\n' "$s" "$(grep -c '"found":true' "$out")" "$runs"
	for _ in $(seq "$runs"); do
		a=$(date +%s.%N)
		"$dyno" sandbox up second --server "$s" "${dirs[@]}" --quiet >/dev/null
		b=$(date +%s.%N)
		"$dyno" sandbox rm second
		echo "$b - $a" | bc
	done | { printf '%-10s a second sandbox up         ' "$s"; spread; }
done
