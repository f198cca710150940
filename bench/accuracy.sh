#!/bin/sh
# How often does Dyno find planted faults, and how often does it report something wrong? The script plants every fault and ten pairs of faults
# on private servers, under random names. Dyno diagnoses each from outside, and then mysqltuner, pt-variable-advisor and
# pt-duplicate-key-checker examine the same server under the same load. It writes one line for each into a file, and makes the tables of
# docs/accuracy.md from all lines of that file.
#
#   bench/accuracy.sh                     three seeds on MariaDB and MySQL; about a minute and a half per fault, more with long cures
#   OUT=accuracy.jsonl                    the file for the lines. Finished lines are not repeated: after a Ctrl-C the same command continues.
#                                         Lines that ended with an error are repeated
#   SEEDS=3 FIRST=1                       number of seeds, and the first one
#   SERVERS=mariadb,mysql@9.7             servers to use; SERVER_DIRS=DIR,DIR names directories with builds
#   ONLY=missing-index,index-order+small-redo
#   CURE=0                                skip the cures and their proof: about 45 s per fault
#   TOOLS=0                               skip the other tools. MYSQLTUNER=FILE names mysqltuner if it is not in $PATH; it needs
#                                         mysqladmin in $PATH
#   DOCS=1                                write the tables into docs/accuracy.md, between its two marks; without it they go to standard output
#   TABLES=1                              only make the tables from the existing lines
#
# Run it as root, for the limits of a slow disk, on an otherwise idle machine.
set -eu
cd "$(dirname "$0")"
OUT=$(realpath -m "${OUT:-../accuracy.jsonl}")
export OUT
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
../build/go test -c -tags bench -o "$dir/accuracy" doc.go accuracy_test.go accuracytools_test.go accuracytable_test.go
# This shell must outlive a Ctrl-C to clean up after the program, which ends by itself.
trap : INT TERM
"$dir/accuracy" -test.count=1 -test.timeout 72h -test.run 'TestAccuracy$'
