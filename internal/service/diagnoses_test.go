package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/trials"
	"github.com/dyno-perf/dyno/internal/task"
	"github.com/dyno-perf/dyno/test/servers"
)

// shopWatched is a service that watches a real server as "shop" with a table that is read whole for want of an index.
func shopWatched(t *testing.T, o Options) (*servers.Server, *Service) {
	t.Helper()
	s := servers.Start(t, "mariadb", "performance_schema=ON")
	s.Exec(t, "CREATE DATABASE shop", "USE shop", "CREATE TABLE boxes (id INT PRIMARY KEY AUTO_INCREMENT, shelf INT "+
		"NOT NULL, note VARCHAR(60) NOT NULL) ENGINE=InnoDB",
		"INSERT INTO boxes (shelf, note) SELECT seq % 500, REPEAT('x', 50) FROM seq_1_to_20000", "ANALYZE TABLE boxes")
	a := alone(t)
	if _, err := (app.Inventory{App: a}).AddTarget(t.Context(),
		ledger.Target{Name: "shop", URL: s.URL("root"), Defaults: os.DevNull},
		false); err != nil {
		t.Fatal(err)
	}
	v, err := New(t.Context(), a, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran, loaded := make(chan error, 1), make(chan struct{})
	go func() { ran <- v.Run(ctx) }()
	db := s.DB(t, "shop")
	go func() {
		defer close(loaded)
		for i := 0; wait(ctx, 20*time.Millisecond); i++ {
			var n int
			_ = db.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(note) FROM boxes WHERE shelf = %d", i%500)).Scan(&n)
		}
	}()
	t.Cleanup(func() {
		stop()
		<-loaded
		if err := errors.Join(<-ran, v.Close()); err != nil {
			t.Error(err)
		}
	})
	return s, v
}

// untilCancelled is the work of a task that somebody ends.
func untilCancelled(ctx context.Context, _ progress.Sink, _ func(string)) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// finished waits for a task that takes as long as a look.
func finished(t *testing.T, s *Service, x task.Task, err error) task.Task {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if y, ok := s.Tasks.Find(x.ID); ok && y.State != task.Running {
			return y
		}
	}
	t.Fatalf("task %+v does not end", x)
	return x
}

// TestBackgroundJudging holds that a service judges by itself, changes nothing by it, and keeps no more than it should.
func TestBackgroundJudging(t *testing.T) {
	s, v := shopWatched(t, Options{Judge: time.Second})
	writes := func() (n uint64) {
		for _, c := range []string{
			"Com_insert", "Com_update", "Com_delete", "Com_replace", "Com_create_table",
			"Com_alter_table", "Com_drop_table", "Com_truncate", "Com_load",
		} {
			n += s.Status(t, c)
		}
		return n
	}
	before := writes()
	// On a busy machine the first looks may see something else, or too little of the load.
	var d DiagnosisDetail
	told := map[string]DiagnosisDetail{}
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		all, err := v.Diagnoses.Summaries(t.Context(), "", 0)
		if err != nil || time.Now().After(end) {
			t.Fatalf("no index is missing: %+v, %v", told, err)
		}
		if len(all) == 0 || told[all[0].ID].ID != "" {
			continue
		}
		if d, err = v.Diagnoses.Detail(t.Context(), all[0].ID); err != nil {
			t.Fatal(err)
		}
		if told[d.ID] = d; slices.ContainsFunc(d.Findings, func(f finding.Finding) bool {
			return f.Rule == "missing-index"
		}) {
			break
		}
	}
	if !d.Background || d.Target != "shop" || d.Worst != d.Findings[0].Title || d.Count != len(d.Findings) {
		t.Errorf("found %+v", d.DiagnosisSummary)
	}
	if len(d.Reasoning) == 0 || len(d.Symptoms) == 0 || d.Server == "" || d.To.Sub(d.From) < 9*time.Second ||
		d.Looked <= len(d.Sources) {
		t.Errorf("judged %+v", d)
	}
	sum := 0.0
	for _, p := range d.Time.Parts {
		sum += p.Share
	}
	if d.Time.Statement <= 0 || sum < 0.999 || sum > 1.001 {
		t.Errorf("shares add up to %v of %v s", sum, d.Time.Statement)
	}
	// What watching sends beside the look is known for Dyno's, too.
	kept, err := v.ledger.Diagnoses.Get(t.Context(), d.ID)
	if err != nil {
		t.Fatal(err)
	}
	x, err := snapshot.Decode(kept.Snapshot)
	if err != nil || len(x.Classes) == 0 {
		t.Fatalf("kept %+v, %v", x, err)
	}
	for _, c := range x.Classes {
		if strings.Contains(c.Fingerprint, "performance_schema") || strings.HasPrefix(c.Fingerprint, "show global") {
			t.Errorf("a class of the server's users: %s", c.Fingerprint)
		}
	}
	if got := writes(); got != before {
		t.Errorf("looking made %d writes", got-before)
	}
}

// TestChangeAndBack carries a finding's change out as the page does, and takes it back.
func TestChangeAndBack(t *testing.T) {
	s, v := shopWatched(t, Options{})
	ctx := t.Context()
	var x task.Task
	var f finding.Finding
	for end := time.Now().Add(3 * time.Minute); f.ID == ""; { // on a busy machine a look may see too little of the load
		var err error
		x, err = v.Diagnoses.Diagnose(ctx, "shop", "ann", family.Look{Window: 4 * time.Second})
		if _, busy := v.Diagnoses.Diagnose(ctx, "shop", "bob", family.Look{Window: 4 * time.Second}); !errors.Is(
			busy,
			task.ErrBusy,
		) {
			t.Errorf("a second look at the same time: %v", busy)
		}
		x = finished(t, v, x, err)
		d, err := v.Diagnoses.Detail(ctx, x.Result)
		if err != nil || x.State != task.Done || d.By != "ann" || d.Background {
			t.Fatalf("%+v %+v %v", x, d.DiagnosisSummary, err)
		}
		for _, y := range d.Findings {
			if y.Rule == "missing-index" {
				f = y
			}
		}
		if f.ID == "" && time.Now().After(end) {
			t.Fatalf("no index is missing: %+v", d)
		}
	}
	if reflect.ValueOf(v.Diagnoses.looks.memories[mysql.Family{}].Of("shop")).Elem().FieldByName("of").IsZero() {
		t.Error("nothing that was read of the tables is kept for the next look")
	}
	indexes := func() (n int) {
		if err := s.DB(t, "shop").QueryRow("SELECT COUNT(DISTINCT INDEX_NAME) FROM information_schema.STATISTICS " +
			"WHERE TABLE_NAME = 'boxes'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	in, err := v.Changes.PreviewChange(ctx, "shop", f.ID, change.Options{})
	if err != nil || !in.Preview.OK() || indexes() != 1 {
		t.Fatalf("%+v %v, %d indexes", in.Preview, err, indexes())
	}
	sql := in.Preview.Action.SQL
	if _, err := v.Changes.ApplyChange(ctx, "shop", f.ID, sql+" ", "ann", change.Options{}); !errors.Is(err,
		ErrPreviewChanged) || indexes() != 1 {
		t.Fatalf("another statement than the one shown: %v, %d indexes", err, indexes())
	}
	x, err = v.Changes.ApplyChange(ctx, "shop", f.ID, sql, "ann", change.Options{})
	x = finished(t, v, x, err)
	if x.State != task.Done || indexes() != 2 {
		t.Fatalf("%+v, %d indexes", x, indexes())
	}
	id := x.Result
	c, err := v.Changes.ChangeOf(ctx, id)
	if err != nil || c.State != journal.Done || c.By != "ann" || c.Title != f.Title ||
		len(c.Events) != 1 || c.Open != "" {
		t.Fatalf("%+v %v", c, err)
	}
	var blocked *change.BlockedError
	if _, err := v.Changes.ApplyChange(ctx, "shop", f.ID, sql, "ann", change.Options{}); !errors.As(err, &blocked) {
		t.Errorf("a second time: %v", err)
	}

	x, err = v.Changes.ProveChange(ctx, id, "ann", family.Look{Window: 4 * time.Second})
	if x = finished(t, v, x, err); x.State != task.Done {
		t.Fatalf("%+v", x)
	}
	if c, err = v.Changes.ChangeOf(ctx, id); err != nil || len(c.Proofs) != 1 || c.Proofs[0].ID != x.Result ||
		c.Proofs[0].Sentence == "" {
		t.Fatalf("%+v %v", c.Proofs, err)
	}

	// What a crash leaves behind is told, and the server is asked.
	e := c.Entry
	e.State = journal.Running
	if err := v.ledger.PutEntry(ctx, e); err != nil {
		t.Fatal(err)
	}
	if c, err = v.Changes.ChangeOf(ctx, id); err != nil || c.Open == "" {
		t.Fatalf("%+v %v", c.JournalAction, err)
	}
	p, err := v.Changes.PreviewUndo(ctx, id, change.Options{})
	if err != nil || p.Entry.State != journal.Done || len(p.Warnings) == 0 || len(p.Blockers) > 0 || indexes() != 2 {
		t.Fatalf("%+v %v", p, err)
	}
	if e, _ := v.ledger.Entry(ctx, id); e.State != journal.Running {
		t.Errorf("a preview wrote into the journal: %s", e.State)
	}

	if _, err := v.Changes.UndoChange(ctx, id, "DROP TABLE boxes", "bob", change.Options{}); !errors.Is(
		err, ErrPreviewChanged,
	) {
		t.Errorf("another statement than the one shown: %v", err)
	}
	x, err = v.Changes.UndoChange(ctx, id, p.SQL, "bob", change.Options{})
	if x = finished(t, v, x, err); x.State != task.Done || indexes() != 1 {
		t.Fatalf("%+v, %d indexes", x, indexes())
	}
	if c, err = v.Changes.ChangeOf(ctx, id); err != nil || c.State != journal.Undone || c.UndoBy != "bob" {
		t.Fatalf("%+v %v", c.JournalAction, err)
	}
	if _, err := v.Changes.ProveChange(ctx, id, "ann", family.Look{}); err == nil {
		t.Error("what was taken back is proven")
	}
	if _, err := v.Changes.ChangeOf(ctx, "a-none"); !errors.Is(err, ledger.ErrNotFound) {
		t.Error(err)
	}
	if _, err := v.Changes.Report(ctx, "x-none"); !errors.Is(err, ledger.ErrNotFound) {
		t.Error(err)
	}
}

func TestLooksTakeTurns(t *testing.T) {
	var l looks
	at := time.Unix(1000, 0)
	up := []string{"a", "b", "c"}
	f := func(now time.Time, want string) {
		t.Helper()
		if got, _, ok := l.next(up, now); got != want || ok != (want != "") {
			t.Fatalf("got %q %v, want %q", got, ok, want)
		}
	}
	f(at, "a")
	f(at, "b")
	f(at, "") // two at a time
	l.done("a", at.Add(time.Minute))
	f(at, "c")
	l.done("b", at.Add(30*time.Second))
	l.done("c", at.Add(time.Hour))
	f(at, "")
	f(at.Add(2*time.Minute), "b") // the longest overdue
	f(at.Add(2*time.Minute), "a")
	l.done("a", at.Add(time.Hour))
	l.done("b", at.Add(time.Hour))
	at = at.Add(3 * time.Minute)
	f(at, "")
	l.renew("a", at) // its name stands for another server
	f(at, "a")
	l.renew("a", at) // and for another one, while the first is looked at
	f(at, "")
	l.done("a", at.Add(time.Hour))
	f(at, "a")
	l.done("a", at.Add(time.Hour))
	f(at, "")
	l.renew("d", at) // one that was never looked at
	f(at, "")
}

// TestAnotherServerIsLookedAtAnew gives the name of a watched server to another one: what was found on the first is not
// told of the second, which is looked at as soon as it answers.
func TestAnotherServerIsLookedAtAnew(t *testing.T) {
	a := alone(t)
	v, err := New(t.Context(), a, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- v.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ran, v.Close()); err != nil {
			t.Error(err)
		}
	})
	watch := func(s *servers.Server) string {
		t.Helper()
		was := v.Fleet.serverOf("shop")
		if _, err := v.Inventory.AddTarget(ctx, ledger.Target{Name: "shop", URL: s.URL("root"), Defaults: os.DevNull},
			nil, true); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if now := v.Fleet.serverOf("shop"); now != "" && now != was {
				return now
			}
		}
		t.Fatalf("%s is not reached", s.Flavor)
		return ""
	}
	told := func(want ...string) {
		t.Helper()
		of, err := v.Diagnoses.Summaries(ctx, "shop", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(ids(of)); got != fmt.Sprint(want) {
			t.Errorf("of the target: %s, want %s", got, want)
		}
		newest, err := v.Diagnoses.Summaries(ctx, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(ids(newest)); got != fmt.Sprint(want[:min(1, len(want))]) {
			t.Errorf("the newest: %s, want the first of %s", got, want)
		}
		if first, err := v.Diagnoses.Summaries(ctx, "shop", 1); err != nil ||
			fmt.Sprint(ids(first)) != fmt.Sprint(want[:min(1, len(want))]) {
			t.Errorf("the newest of the target: %+v, %v, want the first of %s", first, err, want)
		}
	}
	at := time.Now()
	judged := func(id, server string) {
		t.Helper()
		at = at.Add(time.Second)
		if err := v.ledger.Diagnoses.Put(ctx, ledger.Diagnosis{
			ID: id, At: at, Target: "shop",
			Server: server,
		}); err != nil {
			t.Fatal(err)
		}
		if name, _, ok := v.Diagnoses.looks.next([]string{"shop"}, time.Now()); !ok || name != "shop" {
			t.Errorf("before %s: it is not due", id)
		}
		v.Diagnoses.looks.done("shop", time.Now().Add(time.Hour))
	}
	one, two := servers.Start(t, servers.Flavors[0]), servers.Start(t, servers.Flavors[1])
	first := watch(one)
	judged("d-1", first)
	told("d-1")
	second := watch(two)
	told()
	judged("d-2", second)
	told("d-2")
	if watch(one) != first {
		t.Error("the same server has another identity")
	}
	told("d-1")
	judged("d-3", first)
	told("d-3", "d-1")
}

func ids(all []app.DiagnosisSummary) []string {
	out := []string{}
	for _, v := range all {
		out = append(out, v.ID)
	}
	return out
}

// TestLooksLeaveExperimentsAlone: while something measures on this machine nobody looks at its servers.
func TestLooksLeaveExperimentsAlone(t *testing.T) {
	a := alone(t)
	if _, err := (app.Inventory{App: a}).AddTarget(t.Context(), ledger.Target{
		Name: "named",
		URL:  "mysql://root@127.0.0.1:1",
	},
		false); err != nil {
		t.Fatal(err)
	}
	s := wired(&Service{app: a})
	defer s.Tasks.End()
	f := func(name, url string, want bool) {
		t.Helper()
		if got := s.Diagnoses.mayLook(t.Context(), ledger.Target{Name: name, URL: url}); got != want {
			t.Errorf("%s %s may be looked at: %v", name, url, got)
		}
	}
	during := func(x task.Task, check func()) {
		t.Helper()
		x, err := s.Tasks.Start(x, untilCancelled)
		if err != nil {
			t.Fatal(err)
		}
		check()
		if err := s.Tasks.Cancel(x.ID); err != nil {
			t.Fatal(err)
		}
		finished(t, s, x, nil)
	}
	for _, kind := range []string{"recipe", "experiment"} {
		during(task.Task{Kind: kind}, func() {
			f("here", "unix:///run/mysqld.sock?user=root", false)
			f("here", "mysql://root@127.0.0.1:3306", false)
			f("sandbox:a", "", false)
			f("named", "", false)
			f("mysql://root@127.0.0.1:3306/", "", false)
			f("there", "mysql://root@db.example:3306", true)
		})
	}
	during(task.Task{Kind: "apply", Target: "there"}, func() {
		f("here", "unix:///run/mysqld.sock?user=root", true)
		f("there", "mysql://root@db.example:3306", false)
	})
	during(task.Task{Kind: "prove", Target: "there"}, func() { f("there", "mysql://root@db.example:3306", true) })
	f("named", "", true)
	// as another program does
	d, err := trials.Create(app.Stores{App: a}.ExperimentDir("x-1"), trials.Header{ID: "x-1", Started: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	f("named", "", false)
	f("there", "mysql://root@db.example:3306", true)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	f("named", "", true)
}

// TestIncidentsLeaveAPlace: servers that have incidents all the time do not keep those from being looked at that have
// none.
func TestIncidentsLeaveAPlace(t *testing.T) {
	var l looks
	at := time.Unix(1000, 0)
	next := func(up ...string) string {
		name, _, _ := l.next(up, at)
		return name
	}
	l.next([]string{"quiet"}, at)
	l.done("quiet", at)
	for range 5 {
		at = at.Add(2 * diagnoseIncidents)
		l.hasten("h1", "i1", at)
		l.hasten("h2", "i2", at)
		if a, b := next("h1", "h2", "quiet"), next("h1", "h2", "quiet"); a != "h1" || b != "quiet" {
			t.Fatalf("%q and %q are looked at", a, b)
		}
		l.done("quiet", at)
		if x := next("h1", "h2"); x != "h2" { // nobody else wants the other place
			t.Fatalf("%q is looked at", x)
		}
		l.done("h1", at.Add(time.Hour))
		l.done("h2", at.Add(time.Hour))
	}
}

// TestOtherServersEachTimeWaitTheirTurn: servers that call themselves other ones all the time do not keep the rest from
// being looked at.
func TestOtherServersEachTimeWaitTheirTurn(t *testing.T) {
	var l looks
	at := time.Unix(1000, 0)
	up := []string{"good1", "good2", "h1", "h2"}
	looked := map[string]int{}
	for range 400 {
		at = at.Add(time.Second)
		var now []string
		for range looksAtOnce {
			if name, _, ok := l.next(up, at); ok {
				now = append(now, name)
				looked[name]++
			}
		}
		l.renew("h1", at)
		l.renew("h2", at)
		at = at.Add(time.Second)
		for _, name := range now {
			l.done(name, at.Add(10*time.Second))
		}
	}
	for _, name := range up[:2] {
		if looked[name] < 50 {
			t.Errorf("looked at: %v", looked)
		}
	}
}

// TestLastSeenHasABound: what is judged without a connection of its own has the bound of every snapshot.
func TestLastSeenHasABound(t *testing.T) {
	var all []metric.Sample
	for i := range 8000 {
		all = append(all, metric.Sample{
			Name: "long", Kind: metric.Gauge, Labels: metric.L("a", strings.Repeat("\x01", 2000), "b", strconv.Itoa(i)),
		})
	}
	m := &member{
		state:  &state.State{Up: true, At: time.Now(), Server: "mariadb 10.11"},
		latest: map[string][]metric.Sample{"table_io": all},
	}
	s := wired(&Service{})
	s.Fleet.members["evil"] = m
	x := s.Diagnoses.lastSeen("evil", errors.New("Error 1040"))
	if x == nil {
		t.Fatal("nothing was seen")
	}
	doc, err := json.Marshal(x)
	if err != nil || len(doc) > 64<<20 || len(doc) < 16<<20 {
		t.Errorf("%d bytes, %v", len(doc), err)
	}
	if !blind(x) {
		t.Error("what it does not find is taken for gone")
	}
}
