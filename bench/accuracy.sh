#!/bin/sh
# How often does Dyno find what is planted, and how often does it say what is not so? Plants every fault and ten pairs of faults on private
# servers, under random names, has Dyno look at each from outside, and then mysqltuner, pt-variable-advisor and pt-duplicate-key-checker at
# the same server under the same load. Writes a line for each into a file, and the tables of docs/accuracy.md from all lines of that file.
#
#   bench/accuracy.sh                     three seeds on MariaDB and MySQL; about a minute and a half a fault, more with long cures
#   OUT=accuracy.jsonl                    the file with the lines. What it has already is not done again: after a Ctrl-C the same command goes on.
#                                         Lines that ended with an error are done again
#   SEEDS=3 FIRST=1                       so many seeds, from the first one on
#   SERVERS=mariadb,mysql@9.7             which servers; SERVER_DIRS=DIR,DIR names places where builds lie
#   ONLY=missing-index,index-order+small-redo
#   CURE=0                                leave the cures and their proof out: about 45 s a fault
#   TOOLS=0                               leave the other tools out. MYSQLTUNER=FILE is where mysqltuner is when it is not in $PATH; it needs
#                                         mysqladmin in $PATH
#   DOCS=1                                write the tables into docs/accuracy.md, between its two marks; without it they go to standard output
#   TABLES=1                              only make the tables of the lines that are there
#
# Run it as root, for the limits of a slow disk, on a machine where nothing else runs.
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
