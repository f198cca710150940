package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/schema"
)

var at = time.Date(2027, 3, 4, 5, 6, 7, 123456789, time.UTC)

func mustOpen(t *testing.T, path string) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// file returns a name in a directory that does not exist yet, awkward for a URL.
func file(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "home of 100%?#&", "ledger.db")
}

func ok(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// same compares what was read with what was written.
func same[T any](t *testing.T, want, got T, err error) {
	t.Helper()
	if d := cmp.Diff(want, got, cmp.AllowUnexported(known.Value[float64]{}, known.Value[uint64]{}),
		cmpopts.EquateEmpty(), cmp.Comparer(func(a, b *hist.Histogram) bool {
			if a == nil || b == nil {
				return a == b
			}
			x, _ := a.MarshalJSON()
			y, _ := b.MarshalJSON()
			return string(x) == string(y)
		})); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
}

func aRun(id string) loadresult.Run {
	h := hist.New()
	for i := range 1000 {
		h.Record(time.Duration(i) * time.Millisecond)
	}
	return loadresult.Run{
		ID: id, Target: "shop", Workload: "oltp_point_select", Options: map[string]string{
			"tables":     "4",
			"mysql-user": "sb",
		}, Started: at, Elapsed: time.Minute,
		State: loadresult.Done, Warnings: []string{"rand-type special"},
		Total: loadresult.Tick{
			At: at, Length: time.Minute, Threads: 8, Errors: map[string]uint64{"1213": 3},
			ClientCPU: time.Second, Ops: []loadresult.Op{{Name: "read", Reads: 1000, Latency: h}},
		},
	}
}

func aFinding(id string) finding.Finding {
	ref := schema.Ref{Schema: "shop", Table: "orders"}
	return finding.Finding{
		ID: id, Rule: "missing-index", Severity: finding.Critical, Confidence: finding.Certain,
		Title: "4.2M rows examined per row sent — \"×\"", Cause: "why",
		Evidence: []finding.Evidence{{
			What: "rows", Value: known.Of(0.0), Unit: "rows", Source: "digest",
			Text: "it reads all",
		}, {What: "only text", Text: "x"}},
		Suggestion: "add it", Share: 0.92, Action: &finding.Action{
			Kind: finding.AddIndex, Table: ref,
			SQL: "ALTER TABLE `shop`.`orders` ADD KEY", Undo: "ALTER TABLE DROP KEY",
		},
	}
}

func anEntry(id string) journal.Entry {
	return journal.Entry{
		ID: id, Target: "shop", URL: "mysql://dba@db1:3306/shop", Server: "uuid", Finding: "missing-index-00000000",
		Action: *aFinding("").Action, State: journal.Planned,
		Planned: at, Notes: []journal.Note{{At: at, Text: "waits for a lock"}},
	}
}

func TestRoundTrips(t *testing.T) {
	path := file(t)
	l, ctx := mustOpen(t, path), t.Context()

	tg := Target{
		Name: "shop", URL: "mysql://dba@db1:3306/shop?tls=verify-full", Defaults: "/etc/my.cnf",
		PasswordEnv: "SHOP_PASSWORD",
	}
	ok(t, l.PutTarget(ctx, Target{Name: "zoo", URL: "unix:///run/mysqld.sock?user=root"}),
		l.PutTarget(ctx, Target{Name: "shop", URL: "mysql://old"}), l.PutTarget(ctx, tg))
	r1, r2 := aRun("r-1"), aRun("r-2")
	r2.Started, r2.State, r2.Target = at.Add(time.Second), loadresult.Running, "zoo"
	ok(t, l.PutRun(ctx, r2), l.PutRun(ctx, r1))
	r2.State = loadresult.Failed
	ok(t, l.PutRun(ctx, r2))
	d1 := Diagnosis{
		ID: "d-1", At: at, Target: "shop",
		Snapshot: []byte("{ \"spaces\" :  [1, 2.50], \"n\": 18446744073709551615 }\n"),
		Findings: []finding.Finding{aFinding("missing-index-1"), aFinding("missing-index-2")},
	}
	d2 := Diagnosis{
		ID: "d-2", At: at.Add(time.Hour), Target: "shop",
		Findings: []finding.Finding{aFinding("missing-index-2")},
	}
	d2.Findings[0].Title = "newer"
	d3 := Diagnosis{
		ID: "d-3", At: at.Add(2 * time.Hour), Target: "zoo",
		Findings: []finding.Finding{aFinding("missing-index-1")},
	}
	ok(t, l.Diagnoses.Put(ctx, d2), l.Diagnoses.Put(ctx, d1), l.Diagnoses.Put(ctx, d3), l.Diagnoses.Put(ctx, d2))
	e1 := anEntry("a-1")
	e2 := anEntry("a-2")
	e2.Planned, e2.Target = at.Add(time.Second), "zoo"
	ok(t, l.PutEntry(ctx, e1), l.PutEntry(ctx, e2))
	e1.State, e1.Started, e1.Ended = journal.Done, at.Add(time.Minute), at.Add(time.Hour)
	ok(t, l.PutEntry(ctx, e1))
	ok(t, l.Documents.Put(ctx, "experiment", "x-1", "shop", "", []byte(`{"a": 1}`)), l.Documents.Put(ctx, "report", "x-2",
		"", "", []byte(` null`)))
	ok(t, l.Documents.Put(ctx, "experiment", "x-1", "shop", "a-7", []byte(`{"a": 2}`)))

	check := func() {
		t.Helper()
		got, err := l.Target(ctx, "shop")
		same(t, tg, got, err)
		all, err := l.Targets(ctx)
		same(t, []string{"shop", "zoo"}, names(all, func(x Target) string { return x.Name }), err)

		r, err := l.Run(ctx, "r-1")
		same(t, r1, r, err)
		rs, err := l.Runs(ctx, "", 0)
		same(t, []loadresult.Run{r2, r1}, rs, err)
		rs, err = l.Runs(ctx, "shop", 0)
		same(t, []loadresult.Run{r1}, rs, err)
		rs, err = l.Runs(ctx, "", 1)
		same(t, []loadresult.Run{r2}, rs, err)

		d, err := l.Diagnoses.Get(ctx, "d-1")
		same(t, d1, d, err)
		d, err = l.Diagnoses.Last(ctx, "shop")
		same(t, d2, d, err)
		ds, err := l.Diagnoses.List(ctx, "", 2)
		same(t, []string{"d-3", "d-2"}, names(ds, func(x Diagnosis) string { return x.ID }), err)
		f, d, err := l.Diagnoses.Finding(ctx, "shop", "missing-index-2")
		same(t, d2, d, err)
		same(t, d2.Findings[0], f, err)
		f, d, err = l.Diagnoses.Finding(ctx, "shop", "missing-index-1")
		same(t, d1, d, err)
		same(t, d1.Findings[0], f, err)

		e, err := l.Entry(ctx, "a-1")
		same(t, e1, e, err)
		es, err := l.Entries(ctx, "", 0)
		same(t, []journal.Entry{e2, e1}, es, err)
		es, err = l.Entries(ctx, "shop", 0)
		same(t, []journal.Entry{e1}, es, err)

		x, err := l.Documents.Get(ctx, "x-1")
		if err != nil || string(x.JSON) != `{"a": 2}` || x.Kind != "experiment" || x.Target != "shop" ||
			time.Since(x.At) > time.Hour {
			t.Errorf("%+v, %v", x, err)
		}
		xs, err := l.Documents.List(ctx, "experiment", 0)
		same(t, []Document{x}, xs, err)
		if of, err := l.Documents.About(ctx, "experiment", "a-7"); err != nil || len(of) != 1 ||
			of[0].ID != "x-1" || of[0].About != "a-7" {
			t.Errorf("%+v, %v", of, err)
		}
		for _, action := range []string{"", "a-8"} {
			if of, err := l.Documents.About(ctx, "experiment", action); err != nil || len(of) > 0 {
				t.Errorf("%+v, %v", of, err)
			}
		}
		heads, err := l.Documents.Heads(ctx, "experiment", 0)
		same(t, []Listed{{ID: x.ID, Kind: x.Kind, Target: x.Target, At: x.At, Size: int64(len(x.JSON))}}, heads, err)
		if heads, err := l.Documents.Heads(ctx, "", 1); err != nil || len(heads) != 1 {
			t.Errorf("%v, %v", heads, err)
		}
		if xs, err := l.Documents.List(ctx, "", 0); err != nil || len(xs) != 2 {
			t.Errorf("%v, %v", xs, err)
		}
	}
	check()
	ok(t, l.Close())
	l = mustOpen(t, path)
	check()

	there, err := l.AddTarget(ctx, Target{Name: "shop", URL: "mysql://new"})
	same(t, tg, there, err)
	there, err = l.AddTarget(ctx, Target{Name: "bar", URL: "mysql://new"})
	same(t, Target{Name: "bar", URL: "mysql://new"}, there, err)
	kept, err := l.Target(ctx, "bar")
	same(t, there, kept, err)
	ok(t, l.RemoveTarget(ctx, "bar"))
	if _, err := l.AddTarget(ctx, Target{Name: "bar", URL: "mysql://u:secret7@new"}); !errors.Is(err, ErrSecret) {
		t.Errorf("with a password: %v", err)
	}

	ok(t, l.RemoveTarget(ctx, "zoo"))
	all, err := l.Targets(ctx)
	same(t, []string{"shop"}, names(all, func(x Target) string { return x.Name }), err)
	if r, err := l.Check(ctx); err != nil || !r.OK() || r.Version != format.Version {
		t.Errorf("%+v, %v", r, err)
	}
}

func names[T any](xs []T, name func(T) string) (out []string) {
	for _, x := range xs {
		out = append(out, name(x))
	}
	return out
}

func TestNotFound(t *testing.T) {
	f := func(l *Ledger) {
		t.Helper()
		ctx := t.Context()
		is := func(what string, err error) {
			t.Helper()
			var nf *NotFoundError
			if !errors.Is(err, ErrNotFound) || !errors.As(err, &nf) || nf.What != what {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err := l.Target(ctx, "x")
		is("target", err)
		is("target", l.RemoveTarget(ctx, "x"))
		_, err = l.Run(ctx, "x")
		is("run", err)
		_, err = l.Diagnoses.Get(ctx, "x")
		is("diagnosis", err)
		_, err = l.Diagnoses.Last(ctx, "x")
		is("diagnosis", err)
		_, _, err = l.Diagnoses.Finding(ctx, "x", "y")
		is("finding", err)
		_, err = l.Entry(ctx, "x")
		is("action", err)
		_, err = l.Documents.Get(ctx, "x")
		is("document", err)
		rs, err := l.Runs(ctx, "x", 0)
		same(t, nil, rs, err)
		es, err := l.Events.List(ctx, "x", time.Time{}, time.Time{})
		same(t, nil, es, err)
	}
	path := file(t)
	l := mustOpen(t, path)
	f(l) // no file
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("reading made the directory")
	}
	ok(t, l.PutTarget(t.Context(), Target{Name: "shop"}))
	f(l)
}

func TestEvents(t *testing.T) {
	l, ctx := mustOpen(t, file(t)), t.Context()
	sec := func(n int) time.Time { return at.Add(time.Duration(n) * time.Second) }
	put := func(target, text string, from, until int) {
		t.Helper()
		e := event.Event{At: sec(from), Target: target, Kind: event.DDL, Text: text, Ref: "a-1"}
		if until > 0 {
			e.Until = sec(until)
		}
		ok(t, l.Events.Put(ctx, e))
	}
	put("shop", "moment", 10, 0)
	put("shop", "long", 2, 30)
	put("zoo", "other", 10, 0)
	put("", "everywhere", 11, 0)
	put("shop", "late", 100, 0)
	f := func(target string, from, to time.Time, want ...string) {
		t.Helper()
		es, err := l.Events.List(ctx, target, from, to)
		same(t, want, names(es, func(e event.Event) string { return e.Text }), err)
		ids := map[string]bool{}
		for _, e := range es {
			if ids[e.ID] || !strings.HasPrefix(e.ID, "e-") {
				t.Errorf("id %q", e.ID)
			}
			ids[e.ID] = true
		}
	}
	f("shop", time.Time{}, time.Time{}, "long", "moment", "everywhere", "late")
	f("", time.Time{}, time.Time{}, "long", "moment", "other", "everywhere", "late")
	f("shop", sec(10), sec(10), "long", "moment")
	f("shop", sec(12), sec(99), "long")
	f("shop", sec(31), sec(99))
	f("shop", sec(31), time.Time{}, "late")
	f("shop", time.Time{}, sec(5), "long")

	e := event.Event{ID: "e-mine", At: at, Kind: event.Annotation, Text: "before"}
	ok(t, l.Events.Put(ctx, e))
	e.Text = "after"
	ok(t, l.Events.Put(ctx, e))
	es, err := l.Events.List(ctx, "", at, at)
	same(t, []event.Event{e}, es, err)
	if err := l.Events.Put(ctx, event.Event{Text: "x"}); err == nil {
		t.Error("an event without a time is stored")
	}
}

func TestRefused(t *testing.T) {
	path := file(t)
	l, ctx := mustOpen(t, path), t.Context()
	const word = "hunter2hunter2"
	secret := func(err error) {
		t.Helper()
		if !errors.Is(err, ErrSecret) || strings.Contains(err.Error(), word) {
			t.Errorf("%v", err)
		}
	}
	ok(t, l.PutTarget(ctx, Target{Name: "there is a file"}))
	secret(l.PutTarget(ctx, Target{Name: "x", URL: "mysql://u:" + word + "@h/"}))
	secret(l.PutTarget(ctx, Target{Name: "x", URL: "mysql://u@h/?password=" + word}))
	secret(l.PutTarget(ctx, Target{Name: "x", URL: "mysql://u:" + word + "%zz@h/"}))
	e := anEntry("a-1")
	e.URL = "mysql://u:" + word + "@h/"
	secret(l.PutEntry(ctx, e))
	r := aRun("r-1")
	r.Options["mysql-password"] = word
	secret(l.PutRun(ctx, r))
	r.Options["mysql-password"] = "" // sysbench's default
	ok(t, l.PutRun(ctx, r))

	bad := func(err error) {
		t.Helper()
		if err == nil {
			t.Error("stored")
		}
	}
	bad(l.PutTarget(ctx, Target{}))
	bad(l.PutRun(ctx, loadresult.Run{}))
	bad(l.PutEntry(ctx, journal.Entry{}))
	bad(l.Diagnoses.Put(ctx, Diagnosis{}))
	bad(l.Diagnoses.Put(ctx, Diagnosis{ID: "d-1", Snapshot: []byte("{")}))
	bad(l.Documents.Put(ctx, "", "x-1", "", "", []byte("{}")))
	bad(l.Documents.Put(ctx, "k", "", "", "", []byte("{}")))
	bad(l.Documents.Put(ctx, "k", "x-1", "", "", []byte("{")))
	ok(t, l.Close())
	for _, suffix := range []string{"", "-wal"} {
		if b, _ := os.ReadFile(path + suffix); strings.Contains(string(b), word) {
			t.Error("the password is in the file")
		}
	}
}

func TestModes(t *testing.T) {
	path := file(t)
	l := mustOpen(t, path)
	ok(t, l.PutTarget(t.Context(), Target{Name: "shop"}))
	files, err := os.ReadDir(filepath.Dir(path))
	ok(t, err)
	var seen []string
	for _, f := range files {
		st, err := f.Info()
		ok(t, err)
		if st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", f.Name(), st.Mode())
		}
		seen = append(seen, f.Name())
	}
	same(t, []string{"ledger.db", "ledger.db-shm", "ledger.db-wal"}, seen, nil)
	if st, err := os.Stat(filepath.Dir(path)); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	ok(t, l.Close())
	// A home that others share keeps its mode.
	dir := t.TempDir()
	ok(t, os.Chmod(dir, 0o755))
	l = mustOpen(t, filepath.Join(dir, "ledger.db"))
	ok(t, l.PutTarget(t.Context(), Target{Name: "shop"}))
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

func TestIDs(t *testing.T) {
	path := file(t)
	var ls []*Ledger
	for range 3 {
		ls = append(ls, mustOpen(t, path))
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for _, l := range ls {
		wg.Go(func() {
			last := ""
			for range 50 {
				id, err := l.NewID(t.Context(), ActionID)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if seen[id] {
					t.Errorf("%s twice", id)
				}
				seen[id] = true
				mu.Unlock()
				if id <= last || !strings.HasPrefix(id, "a-") || len(id) != 8 {
					t.Errorf("%s after %s", id, last)
				}
				last = id
			}
		})
	}
	wg.Wait()
	f := func(n int64, want string) {
		t.Helper()
		if got := base32(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	f(0, "000000")
	f(31, "00000z")
	f(32, "000010")
	f(1<<30-1, "zzzzzz")
	f(1<<30, "1000000")
	if id, err := ls[0].NewID(t.Context(), RunID); err != nil || id[:2] != "r-" {
		t.Error(id, err)
	}
}

func TestClosedAndCancelled(t *testing.T) {
	l := mustOpen(t, file(t))
	ok(t, l.PutTarget(t.Context(), Target{Name: "shop"}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Targets(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := l.PutTarget(ctx, Target{Name: "late"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ok(t, l.Close(), l.Close())
	if _, err := l.Targets(t.Context()); err == nil || errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if err := l.PutTarget(t.Context(), Target{Name: "x"}); err == nil || errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// TestTogether has several users of one ledger that comes into being under their hands.
func TestTogether(t *testing.T) {
	for round := range 4 {
		path := file(t)
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				l, err := Open(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				for j := range 5 {
					if err := l.PutEntry(t.Context(), anEntry(fmt.Sprintf("a-%d-%d", i, j))); err != nil {
						t.Errorf("round %d: %v", round, err)
					}
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		l := mustOpen(t, path)
		es, err := l.Entries(t.Context(), "", 0)
		if err != nil || len(es) != 30 {
			t.Errorf("round %d: %d entries, %v", round, len(es), err)
		}
		files, err := os.ReadDir(filepath.Dir(path))
		ok(t, err)
		if slices.ContainsFunc(files, func(f os.DirEntry) bool { return strings.Contains(f.Name(), ".new-") }) {
			t.Errorf("left over: %v", files)
		}
	}
}

// BenchmarkOpen opens what `dyno report` opens first: a ledger of some hundred runs.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "ledger.db")
	l, err := Open(b.Context(), path)
	for i := 0; i < 200 && err == nil; i++ {
		err = l.PutRun(b.Context(), aRun(fmt.Sprint("r-", i)))
	}
	if err != nil {
		b.Fatal(err)
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		l, err := Open(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestNewestEvents: a list of events is as long as was asked for, however many there are, and has the newest.
func TestNewestEvents(t *testing.T) {
	l := mustOpen(t, file(t))
	var es []event.Event
	for i := range 30 {
		kind := []event.Kind{event.DDL, event.Config, event.Gap}[i%3]
		es = append(es, event.Event{
			ID: fmt.Sprintf("e-%02d", i), Target: []string{"a", "b"}[i%2], Kind: kind,
			At: at.Add(time.Duration(i) * time.Second), Text: "x",
		})
	}
	ok(t, l.Events.PutAll(t.Context(), es))
	f := func(target string, kinds []string, to time.Time, n int, want ...string) {
		t.Helper()
		got, err := l.Events.Newest(t.Context(), target, kinds, at, to, n)
		var ids []string
		for _, e := range got {
			ids = append(ids, e.ID)
		}
		if err != nil || !slices.Equal(ids, want) {
			t.Errorf("got %v, %v, want %v", ids, err, want)
		}
	}
	f("", nil, time.Time{}, 3, "e-27", "e-28", "e-29")
	f("", nil, at.Add(9500*time.Millisecond), 2, "e-08", "e-09")
	f("a", nil, time.Time{}, 2, "e-26", "e-28")
	f("", []string{"ddl", "gap"}, time.Time{}, 3, "e-26", "e-27", "e-29")
	f("b", []string{"ddl"}, time.Time{}, 2, "e-21", "e-27")
	f("b", []string{"no such kind"}, time.Time{}, 2)
}
