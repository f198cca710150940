#!/bin/sh
# Attacks the HTTP API of a real `dyno serve` with schemathesis, which makes requests, right and wrong ones, of openapi.yaml and holds the
# answers to it. It takes a server that `dyno sandbox` finds and a Python 3.10 or later with venv and pip; the program is built unless DYNO
# names one. What it installs and keeps lies in a temporary directory that goes with it. Its exit code is that of schemathesis, or 1 when
# the program ended or one of its requests panicked.
#
#   bench/attack.sh [examples for each operation, 30]
#
# SEED=n makes the same requests again.
set -eu
cd "$(dirname "$0")/.."
n=${1:-30}
seed=${SEED:-$(date +%s)}
dir=$(mktemp -d)
chmod 711 "$dir" # the server has an account of its own where root runs this
dyno=${DYNO:-$dir/dyno}
serve=
export DYNO_HOME="$dir/home"
clean() {
	trap - EXIT
	if [ -n "$serve" ]; then
		kill "$serve" 2>/dev/null || :
		wait "$serve" || :
	fi
	[ ! -x "$dyno" ] || "$dyno" sandbox rm attacked >/dev/null 2>&1 || :
	rm -rf "$dir"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

[ -n "${DYNO:-}" ] || build/go build -o "$dyno" ./cmd/dyno
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check schemathesis==4.32.5
mkdir -p "$DYNO_HOME"
"$dyno" sandbox up attacked --quiet
socket=$("$dyno" sandbox ls --output json | sed -n 's/.*"socket":"\([^"]*\)".*/\1/p')
"$dyno" target add shop "unix://$socket?user=root" --quiet
"$dyno" serve --listen 127.0.0.1:0 --discover=/nowhere 2>"$dir/log" &
serve=$!

# Until it answers and has read the server: an API without figures would have little to tell.
url=
ready() {
	url=$(sed -n 's/^Dyno answers on \(http:[^ ]*\)\. .*/\1/p' "$dir/log")
	[ -n "$url" ] && "$dir/venv/bin/python" -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=10)' "$url/api/dyno/v1/state?target=shop" 2>"$dir/why"
}
tries=0
until ready; do
	tries=$((tries + 1))
	if [ "$tries" -ge 60 ] || ! kill -0 "$serve" 2>/dev/null; then
		echo "dyno serve does not answer:" >&2
		cat "$dir/log" "$dir/why" >&2
		exit 1
	fi
	sleep 1
done

echo "$("$dyno" --version); $("$dir/venv/bin/schemathesis" --version); $n examples for each operation, seed $seed"
# Most requests are about the target that there is: of another they would only be told that there is none.
cat >"$dir/schemathesis.toml" <<'END'
[dictionaries.targets]
values = ["shop"]

[parameters]
"query.target" = { dictionary = "targets", probability = 0.7 }
"body.target" = { dictionary = "targets", probability = 0.7 }
END
# Left out: the stream, which does not end; the first user, who would shut the attacker out, and the log-out; recipes, which take hours.
status=0
(cd "$dir" && venv/bin/schemathesis run "$url/api/dyno/v1/openapi.yaml" --url "$url" --phases examples,coverage,fuzzing --max-examples "$n" --seed "$seed" \
	--workers 2 --request-timeout 60 --generation-database none --no-color \
	--exclude-path /api/dyno/v1/stream --exclude-path /api/dyno/v1/user/add --exclude-path /api/dyno/v1/recipe/run --exclude-path /api/dyno/v1/logout \
	--checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance) || status=$?
if grep -n -e panic -e 'runtime error' "$dir/log"; then
	status=1
fi
if ! kill -0 "$serve" 2>/dev/null; then
	echo 'dyno serve has ended:'
	tail -n 20 "$dir/log"
	status=1
fi
exit "$status"
