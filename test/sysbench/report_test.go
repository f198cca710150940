package sysbench

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/servers"
)

const sample = `
SQL statistics:
    queries performed:
        read:                            4200
        write:                           1200
        other:                           600
        total:                           6000
    transactions:                        300    (151.33 per sec.)
    queries:                             6000   (3026.68 per sec.)
    ignored errors:                      2      (1.01 per sec.)
    reconnects:                          1      (0.50 per sec.)

General statistics:
    total time:                          1.9822s
    total number of events:              300

Latency (ms):
         min:                                    3.04
         avg:                                    6.60
         max:                                   41.11
         99th percentile:                       17.63
         sum:                                 1980.96
`

func TestParse(t *testing.T) {
	got, err := Parse("[ 1s ] thds: 1 tps: 151.00\n" + sample)
	want := Report{
		4200, 1200, 600, 6000, 300, 300, 2, 1, 151.33, 3026.68, 1.9822, 3.04, 6.60,
		41.11, 1980.96, 99, 17.63,
	}
	if err != nil || got != want {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	for _, change := range [][2]string{
		{"per sec.)\n    queries", "/s)\n    queries"},
		{"    ignored errors", "    errors"},
		{"1.9822s", "1.98s"},
		{"sum:  ", "total:"},
	} {
		if _, err := Parse(strings.Replace(sample, change[0], change[1], 1)); err == nil {
			t.Errorf("%q in place of %q was not noticed", change[1], change[0])
		}
	}
}

func TestRun(t *testing.T) {
	s := servers.Start(t, "mariadb")
	s.Exec(t, "CREATE DATABASE sbtest")
	args := append(Server(s.Socket, "root"), "oltp_read_only", "--table-size=100", "--events=20", "--time=0")
	if out, err := Run(t.Context(), append(args, "prepare")...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := Run(t.Context(), append(args, "run")...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r, err := Parse(out)
	if err != nil || r.Transactions != 20 || r.Queries != 320 || r.Percent != 95 {
		t.Errorf("got %+v, %v\n%s", r, err, out)
	}
	if out, err := Run(t.Context(), append(args, "--events=none", "run")...); err == nil {
		t.Errorf("no error from a wrong option\n%s", out)
	}
}
