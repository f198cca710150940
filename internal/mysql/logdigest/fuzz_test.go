package logdigest

import (
	"bytes"
	"testing"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// FuzzAdd reads any bytes as a log: what is counted of it does not depend on where it is cut, on workers or on being
// written down between.
func FuzzAdd(f *testing.F) {
	f.Add(logOf("# Apples: 3\n", "", "# Bytes_sent: 18446744073709551615  Full_scan: Yes\n",
		"# Log_slow_rate_type: query  Log_slow_rate_limit: 10\n"), 200)
	f.Add([]byte("# Time: 2026-01-02T03:04:05Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: -1.5  Lock_time: 1e9 "+
		"Rows_sent: 0.5  Rows_examined: 0\nuse x;\nselect 1;\n"), 3)
	f.Add([]byte("# administrator command: Quit;\n"), 0)
	f.Fuzz(func(t *testing.T, log []byte, cut int) {
		read := func(a *Aggregator, p *slowlog.Parser, piece []byte, offset int64, s slowlog.State) slowlog.State {
			p.Reset(piece, offset, s)
			var e slowlog.Entry
			for p.Next(&e) {
				a.Add(p, &e, 0)
			}
			for _, s := range p.Skipped() {
				a.Skip(0, s)
			}
			return p.State()
		}
		whole := New(Config{})
		read(whole, slowlog.NewParser(), log, 0, slowlog.State{})
		want := asJSON(t, whole.Report(digest.Options{}))

		at := 0
		if cut >= 0 && cut < len(log) {
			at = slowlog.Cut(log[:cut], false)
		}
		one, two := New(Config{}), New(Config{})
		carried := read(one, slowlog.NewParser(), log[:at], 0, slowlog.State{})
		read(two, slowlog.NewParser(), log[at:], int64(at), carried)
		one, err := ReadState(Config{}, one.AppendState(nil))
		if err != nil {
			t.Fatal(err)
		}
		two.Merge(one)
		if got := asJSON(t, two.Report(digest.Options{})); got != want {
			t.Errorf("cut at %d:\n%s\nwhole:\n%s", at, got, want)
		}
		if a := whole.AppendState(nil); !bytes.HasPrefix(a, []byte(stateMark)) {
			t.Error("no state")
		}
	})
}
