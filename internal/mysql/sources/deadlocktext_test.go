package sources

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/mysql/deadlock"
	"github.com/dyno-perf/dyno/internal/reading"
)

func statusText(t testing.TB, version string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/innodb-" + version + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestReadDeadlock reads the deadlocks in texts of real servers.
func TestReadDeadlock(t *testing.T) {
	f := func(version string, victim uint64, sql, holds, waits string) {
		t.Helper()
		r, ok := deadlock.Read(latestDeadlock(statusText(t, version)).text)
		d := r.Deadlock(lock.FromStatus, r.At)
		if !ok || len(d.Parties) != 2 {
			t.Fatalf("%s: %v, %d parties", version, ok, len(d.Parties))
		}
		p, ok := d.Victim()
		if !ok || p.Session != victim || p.SQL != sql || p.Class == "" || p.User != "root" || p.Host != "localhost" {
			t.Errorf("%s: victim %+v %v", version, p, ok)
		}
		told := func(ls []lock.Lock) string {
			var out []string
			for _, l := range ls {
				out = append(out, l.Object+" "+l.Index+" "+l.Mode+" "+
					strings.Join(l.Record[:min(1, len(l.Record))], ""))
			}
			return strings.Join(out, "; ")
		}
		if got := told(p.Holds); got != holds {
			t.Errorf("%s: holds %q", version, got)
		}
		if got := told(p.Waits); got != waits {
			t.Errorf("%s: waits %q", version, got)
		}
		if got := d.Pairs(); len(got) != 1 || got[0].Blocked != p.Class || got[0].Deadlocks != 1 ||
			got[0].BlockingFingerprint != "update d.t set v=? where id=?" {
			t.Errorf("%s: pairs %+v", version, got)
		}
	}
	const x = " X locks rec but not gap "
	f("mariadb-10.11", 7, "update d.t set v=1 where id=2", "d.t PRIMARY"+x+"0x80000001", "d.t PRIMARY"+x+"0x80000002")
	f("mysql-5.6", 4, "update d.t set v=1 where id=1", "d.t PRIMARY"+x+"0x80000002", "d.t PRIMARY"+x+"0x80000001")
	f("mysql-8.0", 10, "update d.t set v=1 where id=2", "d.t PRIMARY"+x+"0x80000001", "d.t PRIMARY"+x+"0x80000002")
	f("mysql-9.7", 11, "update d.t set v=1 where id=2", "d.t PRIMARY"+x+"0x80000001", "d.t PRIMARY"+x+"0x80000002")
}

// withoutHeadings is how MySQL 8 writes a report into its log unless log_error_verbosity is 3.
func withoutHeadings(text string) string {
	var out []string
	for l := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(l, "*** ") && l != "" {
			out = append(out, l)
		}
	}
	return strings.Join(out[1:], "\n") + "\n"
}

// TestDeadlocksWithoutHeadings: several one after the other, with lines of the server between, are told apart, and each
// has the id that it has in the status text.
func TestDeadlocksWithoutHeadings(t *testing.T) {
	text := latestDeadlock(statusText(t, "mysql-8.0")).text
	r, _ := deadlock.Read(text)
	plain := withoutHeadings(text)
	other := strings.NewReplacer("TRANSACTION 130", "TRANSACTION 140", "trx id 130", "trx id 140").Replace(plain)
	var l errorLog
	l.feed([]byte(plain + other + "2026-11-21T19:57:12.000000Z 9 [Warning] [MY-010055] [Server] something else\n" +
		plain))
	l.reader.Settle(false)
	got := l.reader.Take()
	if len(got) != 3 {
		t.Fatalf("%d reports: %+v", len(got), got)
	}
	want := r.Deadlock(lock.FromStatus, r.At)
	for i, g := range got {
		d := g.Deadlock(lock.FromLog, g.At)
		if same := d.ID == want.ID; same != (i != 1) {
			t.Errorf("%d: id %s, in the status %s", i, d.ID, want.ID)
		}
		if _, ok := d.Victim(); ok || d.Why == "" || len(d.Parties) != 2 || d.Parties[0].SQL != want.Parties[0].SQL ||
			len(d.Parties[0].Holds) != 1 || len(d.Parties[1].Waits) != 1 {
			t.Errorf("%d: %+v", i, d)
		}
	}
}

// TestDeadlockLogOfMariaDB: each heading has the head of a log line, and the log may be read in pieces of any size.
func TestDeadlockLogOfMariaDB(t *testing.T) {
	text := latestDeadlock(statusText(t, "mariadb-10.11")).text
	var out []string
	for l := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(l, "*** ") {
			l = "2026-11-21 19:57:26 7 [Note] InnoDB: " + l + "\n"
		}
		out = append(out, l)
	}
	log := []byte("2026-11-21 19:57:26 7 [Note] InnoDB: Transactions deadlock detected, dumping detailed " +
		"information.\n" +
		strings.Join(out[1:], "\n") + "\n")
	r, _ := deadlock.Read(text)
	for _, piece := range []int{1, 7, 100, len(log)} {
		var l errorLog
		for i := 0; i < len(log); i += piece {
			l.feed(log[i:min(len(log), i+piece)])
			l.reader.Settle(false)
		}
		got := l.reader.Take()
		if len(got) != 1 || got[0].At.IsZero() {
			t.Fatalf("pieces of %d: %+v", piece, got)
		}
		a, b := got[0].Deadlock(lock.FromLog, r.At), r.Deadlock(lock.FromStatus, r.At)
		if !a.Parties[0].Victim {
			t.Errorf("pieces of %d: %+v", piece, a.Parties)
		}
		if a.ID != b.ID {
			t.Errorf("pieces of %d: id %s, in the status %s", piece, a.ID, b.ID)
		}
	}
}

// TestRedactedDeadlock: with NO_BACKSLASH_ESCAPES a string ends where it goes on without, and nothing that is a literal
// in one of both readings is in what is kept.
func TestRedactedDeadlock(t *testing.T) {
	const plain = "update d.t set v=1 where id=2"
	text := latestDeadlock(statusText(t, "mysql-8.0")).text
	if !strings.Contains(text, plain) {
		t.Fatal(text)
	}
	for _, sql := range []string{
		`update d.t set v='c:\', w='marked # 12'`, `update d.t set password='c:\', w='marked # 12'`,
	} {
		r, ok := deadlock.Read(strings.Replace(text, plain, sql, 1))
		if !ok {
			t.Fatal(sql)
		}
		x := reading.Reading{Deadlocks: lock.Seen{Deadlocks: []lock.Deadlock{r.Deadlock(lock.FromStatus, r.At)}}}
		redact(&x)
		d := x.Deadlocks.Deadlocks[0]
		b, err := json.Marshal([]any{d, d.Pairs()})
		if err != nil || strings.Contains(string(b), "marked") || !strings.Contains(string(b), "update d.t set ") {
			t.Errorf("%v: %s", err, b)
		}
	}
}

// FuzzDeadlock: whatever stands in a log or a text, cut or binary, what is made of it is bounded.
func FuzzDeadlock(f *testing.F) {
	for _, v := range []string{"mariadb-10.11", "mysql-5.6", "mysql-8.0", "mysql-9.7"} {
		text := latestDeadlock(statusText(f, v)).text
		for _, n := range []int{0, 100, 700, 1500} {
			f.Add([]byte(text[min(n, len(text)):]))
			f.Add([]byte(text[:len(text)-min(n, len(text))]))
		}
		f.Add([]byte(withoutHeadings(text) + withoutHeadings(text)))
		f.Add([]byte(strings.ReplaceAll(text, "update d.t", "update \xff\x00'*** (1) TRANSACTION:\nTRANSACTION 9, x")))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var l errorLog
		l.feed(b)
		l.reader.Settle(true)
		for _, r := range l.reader.Take() {
			d := r.Deadlock(lock.FromLog, r.At)
			if len(d.Parties) > deadlock.MostParties || d.ID == "" {
				t.Fatalf("%+v", d)
			}
			for _, p := range d.Parties {
				if len(p.SQL) > 2*2048 || strings.ToValidUTF8(p.SQL, "") != p.SQL ||
					strings.ToValidUTF8(p.Fingerprint, "") != p.Fingerprint ||
					len(p.Holds)+len(p.Waits) > deadlock.MostLocks {
					t.Fatalf("%+v", p)
				}
			}
			d.Pairs()
		}
		parseInnodb(string(b))
		latestDeadlock(string(b))
	})
}
