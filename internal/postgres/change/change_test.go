package change

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// bench is a server with a database "shop" and a table in it, and a journal.
type bench struct {
	*pgserver.Server
	t      *testing.T
	x      Changer
	j      *ledger.Ledger
	c      *pgx.Conn // the test's own way in
	ledger string    // where the journal is
	notes  []string  // what the last action said on its way
}

var orders = schema.Ref{Schema: "my shop", Table: "Orders"}

const quoted = `"my shop"."Orders"`

func start(t *testing.T, version string, settings ...string) *bench {
	t.Helper()
	s := pgserver.Start(t, version, settings...)
	s.Exec(t, "postgres", "CREATE DATABASE shop")
	s.Exec(t, "shop", `CREATE SCHEMA "my shop"`, "CREATE TABLE "+quoted+` (id serial PRIMARY KEY, "Day" date NOT NULL `+
		"DEFAULT '2026-01-01', customer int NOT NULL, note text)", "INSERT INTO "+quoted+" (customer, note) SELECT "+
		"g % 1000, repeat('x', 30) FROM generate_series(1, 20000) g", "ANALYZE "+quoted)
	dir := filepath.Join(t.TempDir(), "ledger")
	l, err := ledger.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	b := &bench{Server: s, t: t, j: l, ledger: dir, c: s.Conn(t, "shop")}
	b.x = b.as(pgserver.Superuser)
	return b
}

func (b *bench) as(user string) Changer {
	b.t.Helper()
	x, err := conn.Open(b.t.Context(), shop(b.Socket, user))
	if err != nil {
		b.t.Fatal(err)
	}
	return On(x)
}

func (b *bench) note(s string) { b.notes = append(b.notes, s) }

func (b *bench) preview(a finding.Action) change.Preview {
	b.t.Helper()
	f := finding.Finding{ID: "f-1", Action: &a}
	p, err := change.PreviewChange(b.t.Context(), b.x, f, change.Options{Journal: b.j})
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bench) apply(id string, a finding.Action) (journal.Entry, error) {
	b.t.Helper()
	b.notes = nil
	e, err := change.Apply(b.t.Context(), b.x, b.j, journal.Entry{ID: id, Action: a}, change.Options{}, nil, b.note)
	b.kept(id, e)
	return e, err
}

func (b *bench) undo(id string) (journal.Entry, error) {
	b.t.Helper()
	b.notes = nil
	e, err := change.Undo(b.t.Context(), b.x, b.j, id, change.Options{}, nil, b.note)
	b.kept(id, e)
	return e, err
}

// kept requires that the journal has an entry as it was returned.
func (b *bench) kept(id string, e journal.Entry) {
	b.t.Helper()
	if kept, err := b.j.Entry(b.t.Context(), id); err != nil || kept.State != e.State ||
		kept.Action.SQL != e.Action.SQL || kept.Action.Undo != e.Action.Undo {
		b.t.Errorf("the journal has %+v (%v), returned was %+v", kept, err, e)
	}
}

// indexes returns the definitions of the table's indexes, "invalid" before those that are.
func (b *bench) indexes() string {
	b.t.Helper()
	rows, err := b.c.Query(b.t.Context(), "SELECT CASE WHEN indisvalid THEN '' ELSE 'invalid ' END || "+
		"pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = $1::regclass AND NOT indisprimary ORDER BY 1",
		quoted)
	if err != nil {
		b.t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		b.t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

// one reads one value as text.
func (b *bench) one(q string, args ...any) (text string) {
	b.t.Helper()
	if err := b.c.QueryRow(b.t.Context(), q, args...).Scan(&text); err != nil {
		b.t.Fatalf("%s: %v", q, err)
	}
	return text
}

// until waits until the server says yes.
func (b *bench) until(q string, args ...any) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		var yes bool
		if err := b.c.QueryRow(b.t.Context(), q, args...).Scan(&yes); err != nil {
			b.t.Fatalf("%s: %v", q, err)
		}
		if yes {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("never: %s", q)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// begin opens a transaction that holds what q takes, and returns its session's pid and its end.
func (b *bench) begin(q string) (pid uint32, end func()) {
	b.t.Helper()
	c, err := pgx.Connect(b.t.Context(), b.DSN(pgserver.Superuser, "shop"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, q := range []string{"BEGIN ISOLATION LEVEL REPEATABLE READ", q} {
		if _, err := c.Exec(b.t.Context(), q); err != nil {
			b.t.Fatal(err)
		}
	}
	end = func() { c.Close(context.Background()) }
	b.t.Cleanup(end)
	return c.PgConn().PID(), end
}

func has(all []string, part string) bool { return strings.Contains(strings.Join(all, "\n"), part) }

func adds(name string, columns ...string) finding.Action {
	a := finding.Action{
		Kind: finding.AddIndex, Table: orders, Index: schema.Index{Name: name},
		SQL: "DROP TABLE " + quoted, Undo: "DROP DATABASE shop", // text is never sent
	}
	for _, c := range columns {
		a.Index.Parts = append(a.Index.Parts, schema.IndexPart{Column: c})
	}
	return a
}

// TestAddIndexUnderWrites adds an index while the table is written to, and undoes it.
func TestAddIndexUnderWrites(t *testing.T) {
	for _, version := range pgserver.Versions {
		t.Run(version, func(t *testing.T) {
			b := start(t, version)
			ctx, stop := context.WithCancel(t.Context())
			written, done := 0, make(chan error)
			w := b.Conn(t, "shop")
			go func() {
				var err error
				for ctx.Err() == nil && err == nil {
					_, err = w.Exec(context.Background(), "INSERT INTO "+quoted+" (customer) VALUES (7)")
					written++
				}
				done <- err
			}()
			a := adds("Orders's k", "customer", "Day")
			a.Index.Parts[1].Desc = true
			p := b.preview(a)
			if !p.OK() || b.indexes() != "" {
				t.Fatalf("%v; after a preview there is %s", p.Blockers, b.indexes())
			}
			if _, ok := p.Bytes.Get(); !ok || p.Action.SQL != `CREATE INDEX CONCURRENTLY "Orders's k" ON `+quoted+
				` ("customer", "Day" DESC)` || p.Action.Undo != `DROP INDEX CONCURRENTLY "my shop"."Orders's k"` {
				t.Errorf("%+v", p)
			}
			e, err := b.apply("a-1", a)
			if err != nil || e.State != journal.Done || b.indexes() != `CREATE INDEX "Orders's k" ON `+quoted+
				` USING btree (customer, "Day" DESC)` {
				t.Fatalf("%v, %+v, %s", err, e, b.indexes())
			}
			if p := b.preview(adds("k2", "customer")); !has(p.Blockers, "already serves") {
				t.Errorf("an index that serves: %v", p.Blockers)
			}
			if p := b.preview(adds("Orders's k", "note")); !has(p.Blockers, "already called") {
				t.Errorf("a name that is taken: %v", p.Blockers)
			}
			a = adds("on note")
			a.Index.Parts = []schema.IndexPart{{Expr: `lower("note")`}}
			if _, err := b.apply("a-0", a); err != nil || !strings.Contains(b.indexes(), "(lower(note))") {
				t.Errorf("an expression: %v, %s", err, b.indexes())
			}
			if _, err := b.undo("a-0"); err != nil || strings.Contains(b.indexes(), "lower") {
				t.Errorf("an expression: %v, %s", err, b.indexes())
			}
			u, err := change.PreviewUndo(t.Context(), b.x, b.j, e, change.Options{})
			if err != nil || !u.OK() || u.SQL != p.Action.Undo || b.indexes() == "" {
				t.Errorf("%v, %+v, %s", err, u, b.indexes())
			}
			if e, err = b.undo("a-1"); err != nil || e.State != journal.Undone || b.indexes() != "" {
				t.Errorf("%v, %+v, %s", err, e, b.indexes())
			}
			if _, err := b.undo("a-1"); err == nil || !strings.Contains(err.Error(), "nothing to undo") {
				t.Errorf("twice: %v", err)
			}
			stop()
			if err := <-done; err != nil || written == 0 {
				t.Errorf("%d rows were written: %v", written, err)
			}
		})
	}
}

// waits is true while a build waits for the end of older transactions.
const waits = "SELECT EXISTS (SELECT FROM pg_stat_progress_create_index WHERE phase = 'waiting for old snapshots')"

// TestAFailedBuildLeavesNothing: duplicates, a session that is ended, a command that is stopped.
func TestAFailedBuildLeavesNothing(t *testing.T) {
	b := start(t, "17")
	a := adds("u", "customer")
	a.Index.Unique = true
	e, err := b.apply("a-1", a)
	if err == nil || !strings.Contains(err.Error(), "could not create unique index") || e.State != journal.Failed ||
		b.indexes() != "" || !has(b.notes, "invalid index u") {
		t.Errorf("%v, %+v, %q, %s", err, e, b.notes, b.indexes())
	}

	// Whoever has an older snapshot holds the end of the build up.
	_, end := b.begin("SELECT count(*) FROM pg_class")
	failed := make(chan error)
	go func() { e, err = b.apply("a-2", adds("k", "customer")); failed <- err }()
	b.until(waits)
	b.one("SELECT pg_terminate_backend(pid)::text FROM pg_stat_progress_create_index")
	if err := <-failed; err == nil || e.State != journal.Failed || b.indexes() != "" || !has(b.notes, "was dropped") {
		t.Errorf("%v, %+v, %q, %s", err, e, b.notes, b.indexes())
	}

	ctx, stop := context.WithCancel(t.Context())
	go func() {
		b.notes = nil
		e, err = change.Apply(ctx, b.x, b.j, journal.Entry{ID: "a-3", Action: adds("k", "customer")},
			change.Options{}, nil, b.note)
		failed <- err
	}()
	b.until(waits)
	stop()
	if err := <-failed; !errors.Is(err, context.Canceled) || e.State != journal.Failed || b.indexes() != "" ||
		!has(b.notes, "was dropped") {
		t.Errorf("%v, %+v, %q, %s", err, e, b.notes, b.indexes())
	}
	end()
}

// TestHalfWay: what builds and drops leave whose sessions are ended is found by the journal, which is as a killed Dyno
// would leave it.
func TestHalfWay(t *testing.T) {
	b := start(t, "17")
	_, end := b.begin("SELECT count(*) FROM pg_class")
	p := b.preview(adds("k", "customer"))
	e := journal.Entry{
		ID: "a-1", Target: "shop", Server: b.x.Server().Key(), Action: p.Action, State: journal.Running,
		Planned: time.Now(), Started: time.Now(),
	}
	if err := b.j.PutEntry(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	// interrupt leaves what a build or drop has done when its session is ended.
	interrupt := func(sql, phase string, between func()) {
		t.Helper()
		c := b.Conn(t, "shop")
		done := make(chan error)
		go func() { _, err := c.PgConn().Exec(context.Background(), tagged(sql)).ReadAll(); done <- err }()
		b.until("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock' AND "+
			"wait_event = $2)", c.PgConn().PID(), phase)
		between()
		b.one("SELECT pg_terminate_backend($1)::text", c.PgConn().PID())
		<-done
	}
	interrupt(p.Action.SQL, "virtualxid", func() {
		u, err := change.PreviewUndo(t.Context(), b.x, b.j, e, change.Options{})
		if err != nil || !has(u.Blockers, "still working") {
			t.Errorf("while it is built: %+v, %v", u, err)
		}
		if p := b.preview(adds("k", "customer")); !has(p.Blockers, "is building the index k now") {
			t.Errorf("while it is built: %v", p.Blockers)
		}
	})
	if !strings.HasPrefix(b.indexes(), "invalid") {
		t.Fatal(b.indexes())
	}
	u, err := change.PreviewUndo(t.Context(), b.x, b.j, e, change.Options{})
	if err != nil || !u.OK() || u.Entry.State != journal.Done || len(u.Entry.Notes) == 0 ||
		!strings.Contains(u.Entry.Notes[0].Text, "half-way") {
		t.Errorf("%+v, %v", u, err)
	}
	if e, err := b.undo("a-1"); err != nil || e.State != journal.Undone || b.indexes() != "" {
		t.Errorf("%v, %+v, %s", err, e, b.indexes())
	}

	// The next apply drops what is left; of what no action left nothing is dropped.
	interrupt(p.Action.SQL, "virtualxid", func() {})
	if p := b.preview(adds("k", "customer")); !has(p.Blockers, "no action of Dyno's journal left it") {
		t.Errorf("after an undo: %+v", p)
	}
	if err := b.j.PutEntry(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if p := b.preview(adds("k", "customer")); !p.OK() || !has(p.Warnings, "a-1 was interrupted and left an invalid") {
		t.Errorf("%+v", p)
	}
	end()
	if e, err := b.apply("a-2", adds("k", "customer")); err != nil || e.State != journal.Done || !has(b.notes,
		"was dropped") || strings.Contains(b.indexes(), "invalid") {
		t.Errorf("%v, %+v, %q, %s", err, e, b.notes, b.indexes())
	}
	_, end = b.begin("SELECT count(*) FROM pg_class")
	interrupt("CREATE INDEX CONCURRENTLY other ON "+quoted+" (note)", "virtualxid", func() {})
	if p := b.preview(adds("other", "note")); !has(p.Blockers, "no action of Dyno's journal left it") {
		t.Errorf("%+v", p)
	}
	end()
	b.Exec(t, "shop", `DROP INDEX "my shop".other`)

	// An undo, and a drop, that were killed: a drop waits for whoever uses the table.
	_, end = b.begin("SELECT count(*) FROM " + quoted)
	interrupt(p.Action.Undo, "virtualxid", func() {})
	if !strings.HasPrefix(b.indexes(), "invalid") {
		t.Fatal(b.indexes())
	}
	end()
	if e, err := b.undo("a-2"); err != nil || e.State != journal.Undone || b.indexes() != "" {
		t.Errorf("%v, %+v, %s", err, e, b.indexes())
	}
	b.Exec(t, "shop", "CREATE INDEX k ON "+quoted+" (customer)")
	drop := b.preview(finding.Action{Kind: finding.DropIndex, Table: orders, Index: schema.Index{Name: "k"}})
	e.ID, e.Action, e.Planned = "a-3", drop.Action, time.Now()
	if err := b.j.PutEntry(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	was := b.indexes()
	_, end = b.begin("SELECT count(*) FROM " + quoted)
	interrupt(drop.Action.SQL, "virtualxid", func() {})
	end()
	if e, err := b.undo("a-3"); err != nil || e.State != journal.Undone || b.indexes() != was {
		t.Errorf("%v, %+v, %s", err, e, b.indexes())
	}
}

// TestLongTransactionsAreNamed: before, while the change waits for them.
func TestLongTransactionsAreNamed(t *testing.T) {
	b := start(t, "17")
	pid, end := b.begin("UPDATE " + quoted + " SET note = '' WHERE id = 1")
	who := fmt.Sprintf("session %d (postgres@local), idle in transaction, its transaction open for", pid)
	b.until("SELECT clock_timestamp() - xact_start > interval '5.1 s' FROM pg_stat_activity WHERE pid = $1", pid)
	if p := b.preview(adds("k", "customer")); !has(p.Warnings, "the change has to wait for "+who) {
		t.Errorf("%q does not name %s", p.Warnings, who)
	}
	heard := make(chan string, 100)
	var steps []string
	done := make(chan error)
	go func() {
		e, err := change.Apply(t.Context(), b.x, b.j, journal.Entry{ID: "a-1", Action: adds("k", "customer")},
			change.Options{}, func(p progress.Progress) { steps = append(steps, p.Step) },
			func(s string) { heard <- s })
		if err == nil && e.State != journal.Done {
			err = errors.New(string(e.State))
		}
		done <- err
	}()
	for s := range heard {
		if strings.Contains(s, "the change waits for "+who) {
			break
		}
	}
	end()
	if err := <-done; err != nil || !has(steps, "waiting for writers") {
		t.Errorf("%v, progress %q", err, steps)
	}
}

// TestWaitsEnd: a change that waits too long is given up, names whom it waited for, and can be undone.
func TestWaitsEnd(t *testing.T) {
	b := start(t, "17")
	b.x.wait = time.Second
	pid, end := b.begin("UPDATE " + quoted + " SET note = '' WHERE id = 1")
	who := fmt.Sprintf("it waited for session %d (postgres@local)", pid)
	e, err := b.apply("a-1", adds("k", "customer"))
	if err == nil || !strings.Contains(err.Error(), who) || e.State != journal.Running ||
		!strings.HasPrefix(b.indexes(), "invalid") || !has(b.notes, "an invalid index k may be left") {
		t.Errorf("%v, %+v, %q, %s", err, e, b.notes, b.indexes())
	}
	end()
	if e, err = b.undo("a-1"); err != nil || e.State != journal.Undone || b.indexes() != "" {
		t.Errorf("%v, %+v, %s", err, e, b.indexes())
	}
	if _, err = b.apply("a-2", adds("k", "customer")); err != nil {
		t.Fatal(err)
	}
	was := b.indexes()
	_, end = b.begin("SELECT count(*) FROM " + quoted)
	e, err = b.apply("a-3", finding.Action{Kind: finding.DropIndex, Table: orders, Index: schema.Index{Name: "k"}})
	if err == nil || e.State != journal.Running || b.indexes() != "invalid "+was || !has(b.notes, "half dropped") {
		t.Errorf("%v, %+v, %q, %s", err, e, b.notes, b.indexes())
	}
	end()
	if e, err = b.undo("a-3"); err != nil || e.State != journal.Undone || b.indexes() != was {
		t.Errorf("%v, %+v, %s", err, e, b.indexes())
	}
}

// TestADroppedIndexComesBack with everything that its definition has.
func TestADroppedIndexComesBack(t *testing.T) {
	for _, version := range pgserver.Versions {
		t.Run(version, func(t *testing.T) {
			b := start(t, version)
			b.Exec(t, "shop", "CREATE INDEX k ON "+quoted+` (lower(note) COLLATE "C" text_pattern_ops, `+
				`"Day" DESC NULLS LAST) INCLUDE (customer) WITH (fillfactor = 70) WHERE customer > 5`,
				"CREATE INDEX by_customer ON "+quoted+" (customer)",
				"CREATE INDEX wide ON "+quoted+` (customer, "Day")`,
				"CREATE UNIQUE INDEX u ON "+quoted+" (id, customer)")
			was := b.indexes()
			drop := func(name string) finding.Action {
				return finding.Action{Kind: finding.DropIndex, Table: orders, Index: schema.Index{Name: name}}
			}
			a := drop("k")
			if p := b.preview(a); !p.OK() || b.indexes() != was {
				t.Fatalf("%v; after a preview there is %s", p.Blockers, b.indexes())
			}
			e, err := b.apply("a-1", a)
			if err != nil || e.State != journal.Done || b.indexes() == was || !strings.Contains(was, e.Action.Was) {
				t.Fatalf("%v, %+v", err, e)
			}
			if e, err = b.undo("a-1"); err != nil || e.State != journal.Undone || b.indexes() != was {
				t.Errorf("%v, %+v, is now\n%s\nwas\n%s", err, e, b.indexes(), was)
			}
			f := func(a finding.Action, want string) {
				t.Helper()
				if p := b.preview(a); p.OK() != (want == "") || want != "" && !has(p.Blockers, want) {
					t.Errorf("%s: %q, want %q", a.Index.Name, p.Blockers, want)
				}
			}
			f(drop("u"), "unique")
			f(drop("Orders_pkey"), "a constraint rests on")
			f(drop("none"), "has no index none")
			a = drop("by_customer")
			a.Instead = "wide"
			f(a, "")
			a.Instead = "k"
			f(a, "the advice is outdated")
			a.Instead, a.Unread = "", true
			f(a, "")
			a.Index.Parts = []schema.IndexPart{{Column: "note"}}
			f(a, "is different now")
			// An index that another one was dropped for stays.
			if _, err := b.apply("a-2", adds("wider", "customer", "note")); err != nil {
				t.Fatal(err)
			}
			a = drop("by_customer")
			a.Instead = "wider"
			if _, err := b.apply("a-3", a); err != nil {
				t.Fatal(err)
			}
			if _, err := b.undo("a-2"); err == nil || !strings.Contains(err.Error(), "dyno undo a-3") {
				t.Errorf("%v", err)
			}
			b.Exec(t, "shop", `CREATE INDEX by_customer ON `+quoted+" (note)")
			if _, err := b.undo("a-3"); err == nil || !strings.Contains(err.Error(), "was changed since") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestWhatStandsAgainstAnIndex on tables of other kinds, by accounts of other rights, of actions that are none.
func TestWhatStandsAgainstAnIndex(t *testing.T) {
	b := start(t, "17")
	b.Exec(t, "shop", "CREATE TABLE parts (a int, b json) PARTITION BY RANGE (a)", "CREATE VIEW v AS SELECT 1 AS a",
		"CREATE ROLE app LOGIN", `GRANT USAGE ON SCHEMA "my shop" TO app`, "GRANT SELECT ON "+quoted+" TO app")
	f := func(a finding.Action, want string) {
		t.Helper()
		if p := b.preview(a); !has(p.Blockers, want) {
			t.Errorf("%q, want %q", p.Blockers, want)
		}
	}
	on := func(s, name string) finding.Action {
		a := adds("k", "a")
		a.Table = schema.Ref{Schema: s, Table: name}
		return a
	}
	f(on("public", "parts"), "is partitioned")
	f(on("public", "v"), "is a view")
	f(on("public", "none"), "there is no table public.none in the database shop")
	f(on("", "parts"), "with its schema")
	f(on("pg_catalog", "pg_class"), "of the server's own")
	f(adds("k", "none"), "has no column none")
	f(adds("k"), "1 to 32 columns")
	f(adds(strings.Repeat("k", 64), "note"), "longer than 63 bytes")
	f(adds("v2", "day"), "has no column day")
	a := adds("k", "note")
	a.Index.Type = "HASH"
	f(a, "type HASH are not there for PostgreSQL yet")
	a = adds("k", "note")
	a.Index.Parts[0].Prefix = 3
	f(a, "not there for PostgreSQL yet")
	for _, expr := range []string{"pg_sleep(1)", "lower(note) || note", "app.f(note)", "lower((SELECT note))"} {
		a.Index.Parts = []schema.IndexPart{{Expr: expr}}
		f(a, "not there for PostgreSQL yet")
	}
	for _, kind := range []finding.ActionKind{finding.HideIndex, finding.AlterTable, finding.SetKernel} {
		a := finding.Action{Kind: kind}
		if _, err := change.Apply(t.Context(), b.x, b.j, journal.Entry{ID: "a-1", Action: a}, change.Options{}, nil,
			nil); err == nil || !strings.Contains(err.Error(), "is not there for PostgreSQL yet") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	b.x = b.as("app")
	f(adds("k", "note"), `a privilege is missing: only the owner changes indexes: GRANT "postgres" TO "app"`)
	f(adds("k", "note"), "GRANT CREATE ON SCHEMA")
	p := b.preview(adds("k", "note"))
	if !has(p.Warnings, `GRANT pg_monitor TO "app"`) {
		t.Errorf("%q", p.Warnings)
	}

	// Another database of the same server, and a server that was started again, are other ones.
	e := journal.Entry{ID: "a-1", Action: adds("k", "note"), Server: b.x.Server().ID + "/postgres"}
	if _, err := change.Apply(t.Context(), b.x, b.j, e, change.Options{}, nil, nil); err == nil || !strings.Contains(
		err.Error(), "belongs to the server") {
		t.Errorf("%v", err)
	}
	b.Stop(t)
	b.Launch(t)
	if err := b.x.Pin(t.Context()); conn.KindOf(err) != endpoint.Elsewhere {
		t.Errorf("%v", err)
	}
}
