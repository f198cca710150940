package sources

import (
	"database/sql/driver"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
)

func TestChangesOfVariables(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	base := map[string]string{
		"server_uuid": "u1", "hostname": "db1", "port": "3306", "version": "8.0.33", "max_connections": "151",
		"slave_net_timeout": "60", "replica_net_timeout": "60",
		"gtid_executed": "a:1-5", "init_connect": "", "log_slow_query_time": "10", "long_query_time": "10",
	}
	f := func(change map[string]string, kind event.Kind, want ...string) {
		t.Helper()
		now := maps.Clone(base)
		for k, v := range change {
			if v == "-" {
				delete(now, k)
			} else {
				now[k] = v
			}
		}
		var got []string
		for _, e := range changes(base, now, at) {
			if e.Kind != kind || !e.At.Equal(at) {
				t.Fatalf("%+v", e)
			}
			got = append(got, e.Text)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	f(nil, "")
	f(map[string]string{"max_connections": "200"}, event.Config, "max_connections 151 → 200")
	f(map[string]string{"gtid_executed": "a:1-6"}, event.Config)
	f(map[string]string{"gtid_owned": "a:7#12"}, event.Config)
	f(map[string]string{"slave_net_timeout": "5", "replica_net_timeout": "5"}, event.Config,
		"replica_net_timeout 60 → 5")
	f(map[string]string{"log_slow_query_time": "1", "long_query_time": "1"}, event.Config, "long_query_time 10 → 1")
	f(map[string]string{"new_thing": "x"}, event.Config, "new_thing is new: x")
	f(map[string]string{"init_connect": "-"}, event.Config, "init_connect is gone, it was ''")
	f(map[string]string{"init_connect": "SET PASSWORD='x'"}, event.Config, "init_connect '' → (not shown)")
	f(map[string]string{"init_connect": "a\nb\x1b[31m\xff" + strings.Repeat("ü", 200)}, event.Config,
		"init_connect '' → a b [31m?"+strings.Repeat("ü", 90)+"…")
	f(map[string]string{"server_uuid": "u2", "hostname": "db2", "max_connections": "1", "version": "10.11.19-MariaDB"},
		event.Restart,
		"another server answers: 10.11.19-MariaDB on db2:3306 instead of 8.0.33 on db1:3306")
	f(map[string]string{"version": "8.0.34"}, event.Config, "version 8.0.33 → 8.0.34")

	many := maps.Clone(base)
	for i := range 200 {
		many["v"+strconv.Itoa(i)] = "1"
	}
	if e := changes(base, many, at); len(e) != maxChanges+1 || e[maxChanges].Text != "150 more variables changed" {
		t.Fatalf("%d events, the last %q", len(e), e[len(e)-1].Text)
	}
}

// TestVersionOfAnyBytes: what a server says of itself is its own, down to the last byte, and never another label.
func TestVersionOfAnyBytes(t *testing.T) {
	for _, version := range []string{"8.0.36\x00x", "a\x00job\x00b", "\xff", ""} {
		w := without{end: 2, row: func(_ string, n int) []driver.Value {
			return [][]driver.Value{
				{[]byte("version"), []byte(version)},
				{[]byte(strings.Repeat("x", 1<<20)), []byte("1")},
			}[n]
		}}
		src := newVariables(w, w)
		sc, err := scrape.New(scrape.Parts{Entries: []scrape.Entry{{Source: src}}, Light: newLink(nil)},
			scrape.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := sc.Once(t.Context())
		if x := r.Sources[0]; x.State != source.OK {
			t.Errorf("%+v", x)
		}
		got := slices.DeleteFunc(r.Samples, func(m metric.Sample) bool { return strings.HasPrefix(m.Name, "dyno_") })
		if len(got) != 1 || got[0].Labels.Get("version") != strings.ToValidUTF8(version, "?") ||
			len(got[0].Labels) != 3 || len(src.last) != 1 {
			t.Errorf("%q: %d variables, %v", version, len(src.last), got)
		}
	}
}

func TestLongest(t *testing.T) {
	f := func(sql string, want int) {
		t.Helper()
		if got := longest(sql); got != want {
			t.Errorf("%s: %d bytes, want %d", sql, got, want)
		}
	}
	f("SHOW ENGINE INNODB STATUS", longestStatus)
	f("SHOW GLOBAL VARIABLES", longestValue)
	f("SHOW FULL PROCESSLIST", longestValue)
	f("SHOW GLOBAL STATUS", longestText)
	f("SHOW REPLICA STATUS", longestText)
}

func TestVariableValue(t *testing.T) {
	f := func(in string, want float64, ok bool) {
		t.Helper()
		if v, got := variableValue(in); v != want || got != ok {
			t.Fatalf("%q: got %v %v", in, v, got)
		}
	}
	f("151", 151, true)
	f("0.5", 0.5, true)
	f("18446744073709551615", 18446744073709551615, true)
	f("-1", -1, true)
	f("ON", 1, true)
	f("YES", 1, true)
	f("OFF", 0, true)
	f("DISABLED", 0, true)
	f("", 0, false)
	f("/var/lib/mysql", 0, false)
	f("0x10", 0, false)
	f("utf8mb4", 0, false)
}

func TestGcacheSize(t *testing.T) {
	f := func(in string, want float64, ok bool) {
		t.Helper()
		if v, got := gcacheSize(in); v != want || got != ok {
			t.Fatalf("%q: got %v %v", in, v, got)
		}
	}
	f("base_dir = /x/; gcache.size = 128M; gcache.page_size = 1G", 128<<20, true)
	f("gcache.size=5", 5, true)
	f("gcache.size = 2G", 2<<30, true)
	f("gcache.size = ", 0, false)
	f("", 0, false)
}

func TestNumber(t *testing.T) {
	for _, x := range []driver.Value{
		math.NaN(), math.Inf(1), float32(math.Inf(-1)), []byte("NaN"),
		[]byte("1e999"), "1", nil,
	} {
		if v, ok := number(x); ok || math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("%v is %v", x, v)
		}
	}
	for _, x := range []driver.Value{int64(-7), float64(-7), float32(-7), []byte("-7"), []byte("-7e0")} {
		if v, ok := number(x); !ok || v != -7 {
			t.Errorf("%v is %v", x, v)
		}
	}
}
