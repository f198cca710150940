package apply

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/mysql/alter"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/test/servers"
)

var table = schema.Ref{Schema: "my`shop", Table: "größe t"}

const quoted = "`my``shop`.`größe t`"

func start(t *testing.T, flavor string, settings ...string) (*servers.Server, *target.Target) {
	t.Helper()
	// A starting MariaDB clears the temporary tables of others from a directory that they share.
	s := servers.Start(t, flavor, append(settings, "tmpdir="+t.TempDir())...)
	s.Exec(t, "CREATE DATABASE `my``shop` DEFAULT CHARSET utf8mb4", "USE `my``shop`",
		"CREATE TABLE "+quoted+" (id INT PRIMARY KEY AUTO_INCREMENT, a INT NOT NULL, s VARCHAR(100), j TEXT, w "+
			"VARCHAR(2000), KEY kas (a, s), KEY k_s (s))",
		"INSERT INTO "+quoted+" (a, s) VALUES (1, 'x'), (2, 'y')", "CREATE VIEW v AS SELECT * FROM "+quoted,
		"CREATE TABLE my (a INT, b INT) ENGINE=MyISAM")
	for range 8 {
		s.Exec(t, "USE `my``shop`", "INSERT INTO "+quoted+" (a, s) SELECT a + 1, s FROM "+quoted)
	}
	return s, open(t, s, "root")
}

func open(t *testing.T, s *servers.Server, user string) *target.Target {
	t.Helper()
	spec, err := endpoint.ParseURL(s.URL(user))
	if err != nil {
		t.Fatal(err)
	}
	spec.Name = "shop"
	x, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func action(name string, parts ...schema.IndexPart) finding.Action {
	return finding.Action{
		Kind: finding.AddIndex, Table: table, Index: schema.Index{Name: name, Type: "BTREE", Parts: parts},
		SQL: "DROP TABLE " + quoted, Undo: "DROP DATABASE `my``shop`",
	} // text is never sent
}

func col(name string) schema.IndexPart { return schema.IndexPart{Column: name} }

var adds = action("dyno j", schema.IndexPart{Column: "j", Prefix: 20}, col("a"))

func indexes(t *testing.T, s *servers.Server) (names []string) {
	t.Helper()
	rows, err := s.DB(t, "").Query("SELECT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA=? AND "+
		"TABLE_NAME=? AND SEQ_IN_INDEX=1", table.Schema, table.Table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var n string
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		names = append(names, n)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// spy is the real journal; it calls before each write.
type spy struct {
	*ledger.Ledger
	before func(journal.Entry) error
}

func (s *spy) PutEntry(ctx context.Context, e journal.Entry) error {
	if s.before != nil {
		if err := s.before(e); err != nil {
			return err
		}
	}
	return s.Ledger.PutEntry(ctx, e)
}

func newJournal(t *testing.T) *spy {
	t.Helper()
	l, err := ledger.Open(t.Context(), filepath.Join(t.TempDir(), "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &spy{Ledger: l}
}

func TestPlanOnlyReads(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor)
			counters := []string{
				"Com_alter_table", "Com_create_index", "Com_drop_index", "Com_insert", "Com_update", "Com_delete",
				"Com_set_option", "Com_lock_tables",
				"Com_flush", "Com_kill", "Com_truncate", "Com_create_table", "Com_drop_table", "Com_analyze",
			}
			before := map[string]uint64{}
			for _, c := range counters {
				before[c] = s.Status(t, c)
			}
			p, err := PreviewChange(t.Context(), x, finding.Finding{ID: "f-1", Action: &adds}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range counters {
				grown := s.Status(t, c) - before[c]
				if c == "Com_set_option" { // each new connection sets its session
					continue
				}
				if grown != 0 {
					t.Errorf("%s grew by %d", c, grown)
				}
			}
			if !p.OK() || p.Finding != "f-1" || p.Server != x.Facts().Server || p.Target != "shop" {
				t.Errorf("preview %+v", p)
			}
			if want := "ALTER TABLE " + quoted +
				" ADD INDEX `dyno j` (`j`(20), `a`), ALGORITHM=INPLACE, LOCK=NONE"; p.Action.SQL != want {
				t.Errorf("got  %s\nwant %s", p.Action.SQL, want)
			}
			if want := "ALTER TABLE " + quoted +
				" DROP INDEX `dyno j`, ALGORITHM=INPLACE, LOCK=NONE"; p.Action.Undo != want {
				t.Errorf("got  %s\nwant %s", p.Action.Undo, want)
			}
			if n, ok := p.Bytes.Get(); !ok || n < 5000 || n > 200000 {
				t.Errorf("512 rows: an index of %v bytes, %v", n, ok)
			}
			text := strings.Join(p.Text(), "\n")
			for _, want := range []string{
				"Add index dyno j", p.Action.SQL, p.Action.Undo, "rows",
				"less than a second",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("the text lacks %q:\n%s", want, text)
				}
			}
		})
	}
}

func TestPlanFindsWhatStandsAgainst(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor)
			f := func(a finding.Action, want string) {
				t.Helper()
				p, err := PreviewChange(t.Context(), x, finding.Finding{Action: &a}, Options{})
				if err != nil || p.OK() || !strings.Contains(strings.Join(p.Blockers, "\n"), want) {
					t.Errorf("%v: %q, %v\nwant %s", a.Index, p.Blockers, err, want)
				}
			}
			on := func(a finding.Action, table string) finding.Action { a.Table.Table = table; return a }
			f(on(adds, "nothing"), "there is no table my`shop.nothing")
			f(on(action("k", col("a")), "v"), "is a view")
			f(on(action("k", col("a")), "my"), "engine MyISAM")
			f(action("k", col("nothing")), "no column nothing")
			f(action("k", col("a")), "index kas already serves the same purpose")
			f(action("k", col("A"), col("S")), "index kas already serves the same purpose")
			f(action("KAS", col("s"), col("a")), "another index is already called kas")
			f(action("k", col("j")), "needs a prefix")
			f(action("k", col("w")), "takes up to 8000 bytes")
			f(action("PRIMARY", col("a")), "names no index")
			f(action("k"), "names no index")
			full := action("k", col("j"))
			full.Index.Type = "FULLTEXT"
			f(full, "type FULLTEXT")

			p, err := PreviewChange(t.Context(), x, finding.Finding{Action: &finding.Action{
				Kind: finding.AddIndex, Table: table,
				Index: schema.Index{Name: "k", Parts: []schema.IndexPart{col("s"), col("a")}},
			}}, Options{})
			if err != nil || !p.OK() || !strings.Contains(strings.Join(p.Warnings, "\n"), "makes k_s superfluous") {
				t.Errorf("%+v, %v", p, err)
			}
			if _, err := PreviewChange(t.Context(), x, finding.Finding{}, Options{}); err == nil {
				t.Error("a finding without an action has a plan")
			}
			if _, err := PreviewChange(t.Context(), x, finding.Finding{Action: &finding.Action{Kind: "drop_database"}},
				Options{}); err == nil {
				t.Error("an unknown action has a plan")
			}

			if err := Hide(t.Context(), x, table, "kas"); err != nil {
				t.Fatal(err)
			}
			f(action("k", col("a"), col("s")), "make it visible instead")

			tx, err := s.DB(t, "").Begin()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec("UPDATE " + quoted + " SET a = 0 WHERE id = 1"); err != nil {
				t.Fatal(err)
			}
			warned := false
			for end := time.Now().Add(time.Minute); !warned &&
				time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				p, err := PreviewChange(t.Context(), x, finding.Finding{Action: &adds}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				warned = strings.Contains(strings.Join(p.Warnings, "\n"), "has to wait for thread")
			}
			if !warned {
				t.Error("a long transaction is not warned of")
			}
			left := action("k_s", col("s"))
			left.Undo = "ALTER TABLE …"
			r, err := PreviewUndo(t.Context(), x, newJournal(t), journal.Entry{
				ID: "a-1", Server: x.Facts().Server,
				State: journal.Done, Action: left,
			}, Options{})
			if err != nil || !r.OK() || !strings.Contains(strings.Join(r.Warnings, "\n"), "has to wait for thread") {
				t.Errorf("a long transaction is not warned of before taking an index back: %+v, %v", r, err)
			}
			tx.Rollback()

			s.Exec(t, "SET GLOBAL read_only=ON")
			x = open(t, s, "root")
			f(adds, "read-only")
		})
	}
}

func TestApplyAndUndo(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, _ := start(t, flavor)
			s.Exec(t, "CREATE USER 'changer'@'localhost'")
			grants, err := target.Grants(dbms.Flavor(flavor), "change", "changer@localhost", []string{table.Schema})
			if err != nil {
				t.Fatal(err)
			}
			s.Exec(t, grants...)
			x := open(t, s, "changer") // no more than the grants that Dyno prints
			j := newJournal(t)
			var states []string
			j.before = func(e journal.Entry) error {
				states = append(states, fmt.Sprint(e.State, " ", slices.Contains(indexes(t, s), "dyno j")))
				return nil
			}
			e, err := Apply(t.Context(), x, j, journal.Entry{ID: "a-1", Target: "shop", Action: adds}, Options{}, nil,
				func(n string) { t.Log(n) })
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(states, ", "); got != "planned false, running false, done true" {
				t.Errorf("the journal was written: %s", got)
			}
			if e.State != journal.Done || e.Server != x.Facts().Server || e.Started.Before(e.Planned) ||
				e.Ended.Before(e.Started) || e.Error != "" ||
				!strings.Contains(e.Action.SQL, "ADD INDEX") || !strings.Contains(e.Action.Undo, "DROP INDEX") ||
				strings.Contains(e.URL, "password") {
				t.Errorf("entry %+v", e)
			}
			kept, err := j.Entry(t.Context(), "a-1")
			if err != nil || kept.State != journal.Done || kept.Action.Undo != e.Action.Undo {
				t.Errorf("journal %+v, %v", kept, err)
			}

			_, err = Apply(t.Context(), x, j, kept, Options{}, nil, nil)
			if err == nil || !strings.Contains(err.Error(), "already done") {
				t.Errorf("the same entry twice: %v", err)
			}
			again, err := Apply(t.Context(), x, j, journal.Entry{ID: "a-2", Action: adds}, Options{}, nil, nil)
			var blocked *BlockedError
			if !errors.As(err, &blocked) || again.State != journal.Failed {
				t.Errorf("the same action twice: %v, %+v", err, again)
			}
			if kept, err := j.Entry(t.Context(), "a-2"); err != nil || kept.State != journal.Failed ||
				kept.Error == "" {
				t.Errorf("journal of a blocked action: %+v, %v", kept, err)
			}
			if _, err := Undo(t.Context(), x, j, "a-2", Options{}, nil, nil); err == nil ||
				!strings.Contains(err.Error(), "nothing to undo") {
				t.Errorf("undo of a failed action: %v", err)
			}

			states = nil
			e, err = Undo(t.Context(), x, j, "a-1", Options{}, nil, nil)
			if err != nil || e.State != journal.Undone || e.UndoneAt.IsZero() ||
				slices.Contains(indexes(t, s), "dyno j") {
				t.Errorf("undo: %+v, %v", e, err)
			}
			if got := strings.Join(states, ", "); got != "done true, undone false" {
				t.Errorf("the journal was written: %s", got)
			}
			if _, err := Undo(t.Context(), x, j, "a-1", Options{}, nil, nil); err == nil ||
				!strings.Contains(err.Error(), "is undone") {
				t.Errorf("undo twice: %v", err)
			}
			if _, err := Undo(t.Context(), x, j, "a-none", Options{}, nil, nil); !errors.Is(err, ledger.ErrNotFound) {
				t.Errorf("undo of nothing: %v", err)
			}
			if got := fmt.Sprint(indexes(t, s)); got != "[PRIMARY k_s kas]" {
				t.Errorf("indexes %s", got)
			}
		})
	}
}

func TestMissingPrivilegeIsNamedBeforeAnythingIsSent(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, _ := start(t, flavor)
			s.Exec(t, "CREATE USER u@localhost", "GRANT SELECT, INDEX, INSERT, CREATE ON `my``shop`.* TO u@localhost")
			x := open(t, s, "u")
			before := s.Status(t, "Com_alter_table")
			const want = "GRANT ALTER ON " + quoted + " TO 'u'@'localhost'"
			e, err := Apply(t.Context(), x, newJournal(t), journal.Entry{ID: "a-1", Action: adds}, Options{}, nil, nil)
			if err == nil || !strings.Contains(err.Error(), want) || e.State != journal.Failed {
				t.Errorf("apply: %v, %+v", err, e)
			}
			if err := Hide(t.Context(), x, table, "kas"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("hide: %v", err)
			}
			if n := s.Status(t, "Com_alter_table") - before; n != 0 {
				t.Errorf("%d ALTER TABLE were sent", n)
			}
			s.Exec(t, want) // the grant that was named is the one that helps
			if e, err := Apply(t.Context(), x, newJournal(t), journal.Entry{ID: "a-1", Action: adds}, Options{},
				nil, nil); err != nil {
				t.Errorf("with the grant: %v, %+v", err, e)
			}
			// As a role that is in force.
			s.Exec(t, "CREATE ROLE r", "GRANT SELECT, ALTER ON `my``shop`.* TO r", "CREATE USER ru@localhost",
				"GRANT r TO ru@localhost",
				map[string]string{
					"mariadb": "SET DEFAULT ROLE r FOR ru@localhost",
					"mysql":   "SET DEFAULT ROLE r TO ru@localhost",
				}[flavor])
			if g, err := missing(t.Context(), open(t, s, "ru"), "ALTER", table); err != nil || g != "" {
				t.Errorf("by a role: %q, %v", g, err)
			}
		})
	}
}

func TestNothingIsSentWithoutAJournal(t *testing.T) {
	s, x := start(t, "mariadb")
	full := errors.New("no space left on device")
	for _, at := range []journal.State{journal.Planned, journal.Running} {
		j := newJournal(t)
		j.before = func(e journal.Entry) error {
			if e.State == at {
				return full
			}
			return nil
		}
		if _, err := Apply(t.Context(), x, j, journal.Entry{ID: "a-1", Action: adds}, Options{}, nil,
			nil); !errors.Is(err, full) || len(indexes(t, s)) != 3 {
			t.Errorf("journal fails when %s: %v, %v", at, err, indexes(t, s))
		}
	}
	j := newJournal(t)
	j.before = func(e journal.Entry) error {
		if e.State == journal.Done {
			return full
		}
		return nil
	}
	if _, err := Apply(t.Context(), x, j, journal.Entry{ID: "a-1", Action: adds}, Options{}, nil, nil); !errors.Is(err,
		full) || !strings.Contains(err.Error(), "the change was made") {
		t.Errorf("journal fails at the end: %v", err)
	}
	// The entry is Running, and an undo finds out the truth first.
	j.before = nil
	if e, err := Undo(t.Context(), x, j, "a-1", Options{}, nil, nil); err != nil || e.State != journal.Undone ||
		len(indexes(t, s)) != 3 {
		t.Errorf("undo: %v, %+v, %v", err, e, indexes(t, s))
	}
	if _, err := Apply(t.Context(), x, j, journal.Entry{Action: adds}, Options{}, nil, nil); err == nil {
		t.Error("an entry without an id")
	}
}

func TestUndoRefusesAnythingElse(t *testing.T) {
	s, x := start(t, "mariadb")
	other, y := start(t, "mariadb")
	other.Exec(t, "ALTER TABLE "+quoted+" ADD INDEX `dyno j` (j(20), a)")
	j := newJournal(t)
	apply := func(id string) {
		t.Helper()
		if _, err := Apply(t.Context(), x, j, journal.Entry{ID: id, Action: adds}, Options{}, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	refuses := func(what string, x *target.Target, id, want string) {
		t.Helper()
		if e, err := Undo(t.Context(), x, j, id, Options{}, nil, nil); err == nil ||
			!strings.Contains(err.Error(), want) || e.State != journal.Done {
			t.Errorf("%s: %v, %+v", what, err, e)
		}
	}
	apply("a-1")
	refuses("another server", y, "a-1", "belongs to the server")
	if !slices.Contains(indexes(t, other), "dyno j") {
		t.Error("the index of another server was dropped")
	}
	if _, err := Apply(t.Context(), y, j, journal.Entry{ID: "a-9", Server: x.Facts().Server, Action: adds}, Options{},
		nil, nil); err == nil {
		t.Error("an entry for another server was applied")
	}
	s.Exec(t, "ALTER TABLE "+quoted+" DROP INDEX `dyno j`, ADD INDEX `dyno j` (a, id)")
	refuses("a changed index", x, "a-1", "was changed since, it is now (`a`, `id`)")
	s.Exec(t, "ALTER TABLE "+quoted+" DROP INDEX `dyno j`")
	refuses("an index that is gone", x, "a-1", "no longer in effect on")
	apply("a-2")
	s.Exec(t, "DROP TABLE "+quoted)
	refuses("a table that is gone", x, "a-2", "no longer in effect on")
}

// TestAValueThatMayBeCutIsRefused: servers cut long values where they list them, and an undo would set what is left.
func TestAValueThatMayBeCutIsRefused(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			x := open(t, s, "root")
			f := func(n int, whole bool) {
				t.Helper()
				s.Exec(t, fmt.Sprintf("SET GLOBAL init_connect = '%s'", strings.Repeat("x", n)))
				v, ok, err := global(t.Context(), x, "init_connect")
				if (err == nil) != whole || whole && (!ok || len(v) != n) {
					t.Errorf("of %d bytes: %d, %v, %v", n, len(v), ok, err)
				}
			}
			f(1000, true)
			const newer = "SELECT 1 WHERE VERSION() RLIKE '^(1[2-9]|11[.]([89]|1[0-9]))'"
			if s.DB(t, "").QueryRow(newer).Scan(new(int)) == nil { // MariaDB 11.8: it holds no more than is listed
				_, err := s.DB(t, "").Exec("SET GLOBAL init_connect = ?", strings.Repeat("x", 5000))
				if err == nil || !strings.Contains(err.Error(), "too long") {
					t.Errorf("a value that may be cut is taken: %v", err)
				}
				return
			}
			f(5000, false)
			f(100_000, false)
		})
	}
}

func TestCancelIsWrittenDown(t *testing.T) {
	s, x := start(t, "mysql")
	tx, err := s.DB(t, "").Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("UPDATE " + quoted + " SET a = 0 WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	j := newJournal(t)
	ctx, cancel := context.WithCancel(t.Context())
	j.before = func(e journal.Entry) error {
		if e.State == journal.Running {
			time.AfterFunc(300*time.Millisecond, cancel)
		}
		return nil
	}
	e, err := Apply(ctx, x, j, journal.Entry{ID: "a-1", Action: adds}, Options{}, nil, nil)
	if !errors.Is(err, context.Canceled) || alter.WhyOf(err) != alter.Stopped || e.State != journal.Failed {
		t.Errorf("%v, %+v", err, e)
	}
	if kept, err := j.Entry(t.Context(), "a-1"); err != nil || kept.State != journal.Failed || len(kept.Notes) == 0 {
		t.Errorf("journal %+v, %v", kept, err)
	}
	if len(indexes(t, s)) != 3 {
		t.Errorf("left behind: %v", indexes(t, s))
	}
}

func TestReconcileAsksTheServer(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			// Where it is seen who has the table, the ALTER would not be sent.
			s, x := start(t, flavor, "performance_schema_instrument=wait/lock/metadata/sql/mdl=OFF")
			entry := journal.Entry{ID: "a-1", Server: x.Facts().Server, Action: adds}
			f := func(what string, from, want journal.State) {
				t.Helper()
				entry.State = from
				if e, err := Reconcile(t.Context(), x, entry); err != nil || e.State != want ||
					(want == journal.Failed) != (e.Error != "") {
					t.Errorf("%s, %s: %+v, %v", what, from, e, err)
				}
			}
			f("no index", journal.Planned, journal.Failed)
			f("no index", journal.Running, journal.Failed)
			f("no index", journal.Done, journal.Done)
			entry.UndoBegan = time.Now()
			f("no index after an undo", journal.Done, journal.Undone)
			entry.UndoBegan = time.Time{}

			// Dyno's own ALTER still waits there.
			tx, err := s.DB(t, "").Begin()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec("UPDATE " + quoted + " SET a = 0 WHERE id = 1"); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- alter.Native(ctx, x, alter.Alteration{
					Table: table, SQL: "ADD INDEX x (a, j(3))",
					LockWait: 5 * time.Second,
				}, nil, nil)
			}()
			for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
				if busy, err := running(t.Context(), x, table); err != nil {
					t.Fatal(err)
				} else if busy {
					break
				}
				if time.Now().After(end) {
					t.Fatal("the ALTER is never seen")
				}
			}
			f("still at it", journal.Running, journal.Running)
			cancel()
			<-ended
			tx.Rollback()

			s.Exec(t, "ALTER TABLE "+quoted+" ADD INDEX `dyno j` (j(20), a)")
			f("the index", journal.Running, journal.Done)
			f("the index", journal.Done, journal.Done)
			f("the index", journal.Planned, journal.Failed)
			entry.UndoBegan = time.Now()
			f("the index after an undo began", journal.Done, journal.Done)
			s.Exec(t, "ALTER TABLE "+quoted+" DROP INDEX `dyno j`, ADD INDEX `dyno j` (j(21), a)")
			f("another index", journal.Running, journal.Failed)
			entry.UndoBegan, entry.Action = time.Time{}, finding.Action{
				Kind: finding.AlterTable, Table: table,
				Changes: []schema.Clause{{Kind: schema.Rebuild}},
			}
			f("a rebuild, which leaves no mark", journal.Running, journal.Failed)
			f("a rebuild that was answered", journal.Done, journal.Done)
			entry.Server = "elsewhere"
			if _, err := Reconcile(t.Context(), x, entry); err == nil {
				t.Error("reconciled with another server")
			}
		})
	}
}

// TestATagIsNoAlterOfOurs: an action that was interrupted does not look as if it still ran because somebody writes its
// tag and its text.
func TestATagIsNoAlterOfOurs(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor)
			s.Exec(t, "CREATE USER app@localhost", "GRANT ALL ON `my``shop`.* TO app@localhost")
			tx, err := s.DB(t, "").Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			if _, err := tx.Exec("UPDATE " + quoted + " SET a = 0 WHERE id = 1"); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			defer wg.Wait()
			defer cancel()
			change := "ALTER TABLE " + quoted + " ADD INDEX x (a)"
			tenant, err := sql.Open("mysql", "app@unix("+s.Socket+")/")
			if err != nil {
				t.Fatal(err)
			}
			defer tenant.Close()
			forged := map[*sql.DB]string{
				// waits for the transaction
				tenant: sqltext.Tagged("alter", "a-1", change),
				// the account that Dyno uses
				s.DB(t, ""): sqltext.Tagged("alter", "a-1", "SELECT SLEEP(60), '"+change+" '"),
			}
			for db, q := range forged {
				wg.Go(func() { _, _ = db.ExecContext(ctx, q) })
			}
			for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
				var n int
				if err := s.DB(t, "").QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE " +
					"'/* dyno:alter a-1 */%'").Scan(&n); err != nil {
					t.Fatal(err)
				}
				if n == len(forged) {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("%d statements are seen", n)
				}
			}
			if busy, err := running(t.Context(), x, table); busy || err != nil {
				t.Errorf("a tenant's statement is taken for Dyno's: %v, %v", busy, err)
			}
			reconcile := func() (journal.Entry, error) {
				return Reconcile(t.Context(), x, journal.Entry{
					ID: "a-1", Server: x.Facts().Server, Action: adds,
					State: journal.Running,
				})
			}
			// While the tenant's ALTER waits, the table may not be described; then there is an answer.
			if e, err := reconcile(); err == nil && e.State != journal.Failed || err != nil &&
				!strings.Contains(err.Error(), "the table is in use") {
				t.Errorf("beside the tenant's: %+v, %v", e, err)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			cancel()
			wg.Wait()
			e, err := reconcile()
			for end := time.Now().Add(time.Minute); err != nil &&
				strings.Contains(err.Error(), "the table is in use") && time.Now().Before(end); e, err = reconcile() {
				time.Sleep(20 * time.Millisecond) // the server goes on with the ALTER until it sees that nobody waits
			}
			if err != nil || e.State != journal.Failed {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
}

// TestServerCrashInTheMiddle kills the server while it builds the index: the entry stays Running, and the restarted
// server tells.
func TestServerCrashInTheMiddle(t *testing.T) {
	s, x := start(t, "mariadb")
	for range 8 {
		s.Exec(t, "USE `my``shop`", "INSERT INTO "+quoted+" (a, s, j) SELECT a + 1, s, REPEAT('z', 100) FROM "+quoted)
	}
	j := newJournal(t)
	killed, begun := make(chan struct{}), false
	j.before = func(e journal.Entry) error {
		if e.State == journal.Running && !begun {
			begun = true
			db := s.DB(t, "")
			go func() {
				defer close(killed)
				for n := 0; n == 0; {
					if db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() "+
						"AND INFO LIKE '%ALTER TABLE%'").Scan(&n) != nil {
						return
					}
				}
				s.Kill(t)
			}()
		}
		return nil
	}
	e, err := Apply(t.Context(), x, j, journal.Entry{ID: "a-1", Action: adds}, Options{}, nil, nil)
	if alter.WhyOf(err) != alter.Lost || e.State != journal.Running {
		t.Fatalf("%v, %+v", err, e)
	}
	<-killed
	s.Launch(t)
	y := open(t, s, "root")
	r, err := Reconcile(t.Context(), y, e)
	if err != nil {
		t.Fatal(err)
	}
	want := journal.Failed
	if slices.Contains(indexes(t, s), "dyno j") {
		want = journal.Done
	}
	if r.State != want {
		t.Errorf("indexes %v: %+v", indexes(t, s), r)
	}
}

func TestHideAndShow(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor)
			used := func() string {
				t.Helper()
				form := "FORMAT=TRADITIONAL "
				if flavor == "mariadb" {
					form = ""
				}
				rows, err := s.DB(t, "").Query("EXPLAIN " + form + "SELECT * FROM " + quoted + " WHERE a = 1")
				if err != nil {
					t.Fatal(err)
				}
				defer rows.Close()
				cols, _ := rows.Columns()
				vals, dest := make([]*string, len(cols)), make([]any, len(cols))
				for i := range vals {
					dest[i] = &vals[i]
				}
				for rows.Next() {
					if err := rows.Scan(dest...); err != nil {
						t.Fatal(err)
					}
				}
				if err := rows.Err(); err != nil {
					t.Fatal(err)
				}
				if k := vals[slices.Index(cols, "possible_keys")]; k != nil {
					return *k
				}
				return ""
			}
			if used() != "kas" {
				t.Fatalf("at first: %q", used())
			}
			for _, turn := range []struct {
				f    func(context.Context, *target.Target, schema.Ref, string) error
				want string
			}{{Hide, ""}, {Hide, ""}, {Show, "kas"}, {Show, "kas"}, {Hide, ""}, {Show, "kas"}} {
				if err := turn.f(t.Context(), x, table, "KAS"); err != nil {
					t.Fatal(err)
				}
				if got := used(); got != turn.want {
					t.Errorf("possible keys %q, want %q", got, turn.want)
				}
			}
			if err := Hide(t.Context(), x, table, "nothing"); err == nil {
				t.Error("hides what is not there")
			}
			if err := Hide(t.Context(), x, schema.Ref{Schema: "no", Table: "no"}, "k"); err == nil {
				t.Error("hides in no table")
			}
			if err := Hide(t.Context(), x, table, "PRIMARY"); err == nil {
				t.Error("hides the primary key")
			}
		})
	}
}

// TestInForce changes by hand what an action did, and the table beside it.
func TestInForce(t *testing.T) {
	s, x := start(t, "mariadb")
	j := newJournal(t)
	apply := func(id string, a finding.Action, o Options) finding.Action {
		t.Helper()
		e, err := Apply(t.Context(), x, j, journal.Entry{ID: id, Action: a}, o, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return e.Action
	}
	is := func(what string, a finding.Action, want string) {
		t.Helper()
		if got, err := InForce(t.Context(), x, a, Options{}); err != nil || (got == "") != (want == "") ||
			!strings.Contains(got, want) {
			t.Errorf("%s: %q, %v; want %q", what, got, err, want)
		}
	}
	index := apply("a-1", adds, Options{})
	is("the index", index, "")
	s.Exec(t, "CREATE USER 'watcher'@'localhost'")
	grants, err := target.Grants("mariadb", "watch", "watcher@localhost", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Exec(t, grants...)
	if got, err := InForce(t.Context(), open(t, s, "watcher"), index, Options{}); err != nil || got != "" {
		t.Errorf("the index for an account that sees no table: %q, %v", got, err)
	}
	s.Exec(t, "ALTER TABLE "+quoted+" DROP INDEX `dyno j`, ADD INDEX `dyno j` (a, id)")
	is("another index", index, "it is now (`a`, `id`)")
	s.Exec(t, "ALTER TABLE "+quoted+" DROP INDEX `dyno j`")
	is("no index", index, "no longer in effect on")

	value := apply("a-2", finding.Action{Kind: finding.SetVariable, Variable: "long_query_time", Value: "3"}, Options{})
	is("the value", value, "")
	s.Exec(t, "SET GLOBAL long_query_time=10")
	is("the value of before", value, "no longer in effect")
	s.Exec(t, "SET GLOBAL long_query_time=4")
	is("a third value", value, "it is now 4")

	column := apply("a-3", finding.Action{
		Kind: finding.AlterTable, Table: table, Changes: []schema.Clause{{
			Kind: schema.ModifyColumn, Column: "s",
			Definition: "varchar(120)",
		}},
	}, Options{Blocking: true})
	is("the column", column, "")
	s.Exec(t, "ALTER TABLE "+quoted+" ADD COLUMN more INT")
	is("the column in a table that was changed elsewhere", column, "")
	s.Exec(t, "ALTER TABLE "+quoted+" MODIFY COLUMN s varchar(100)")
	is("the column as before in a table that was changed elsewhere", column, "was changed since")
	s.Exec(t, "ALTER TABLE "+quoted+" DROP COLUMN more")
	is("the table of before", column, "no longer in effect on")

	rebuild := apply("a-4", finding.Action{
		Kind: finding.AlterTable, Table: table,
		Changes: []schema.Clause{{Kind: schema.Rebuild}},
	}, Options{})
	is("a rebuild", rebuild, "")
}
