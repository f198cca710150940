package alter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/test/servers"
)

var table = schema.Ref{Schema: "d`x", Table: "my t"}

func start(t *testing.T, flavor string, rows int, settings ...string) (*servers.Server, *target.Target) {
	t.Helper()
	// A starting MariaDB clears the temporary tables of others from a directory that they share.
	s := servers.Start(t, flavor, append(settings, "tmpdir="+t.TempDir())...)
	s.Exec(t, "CREATE DATABASE `d``x`", "CREATE TABLE "+ddl.Name(table)+" (id INT PRIMARY KEY AUTO_INCREMENT, a INT "+
		"NOT NULL, s VARCHAR(200), j TEXT)",
		"INSERT INTO "+ddl.Name(table)+" (a, s, j) VALUES (1, REPEAT('x', 180), 'some words')")
	for n := 1; n < rows; n *= 2 {
		s.Exec(t, "USE `d``x`", "INSERT INTO "+ddl.Name(table)+" (a, s, j) SELECT FLOOR(RAND() * 1000000), "+
			"SHA2(RAND(), 256), j FROM "+ddl.Name(table))
	}
	spec, err := endpoint.ParseURL(s.URL("root"))
	if err != nil {
		t.Fatal(err)
	}
	x, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return s, x
}

func indexes(t *testing.T, s *servers.Server) (n int) {
	t.Helper()
	err := s.DB(t, "").QueryRow("SELECT COUNT(DISTINCT INDEX_NAME) FROM information_schema.STATISTICS WHERE "+
		"TABLE_SCHEMA=? AND TABLE_NAME=?",
		table.Schema, table.Table).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// writers inserts and updates until stop is called, which returns how many statements succeeded and the longest one.
func writers(t *testing.T, s *servers.Server, n int) (count *atomic.Int64, stop func() time.Duration) {
	t.Helper()
	db := s.DB(t, table.Schema)
	db.SetMaxIdleConns(n)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var longest atomic.Int64
	count = &atomic.Int64{}
	for i := range n {
		wg.Go(func() {
			for j := 0; ctx.Err() == nil; j++ {
				q := "INSERT INTO " + ddl.Name(table) + " (a, s) VALUES (1, 'new')"
				if j%2 == 1 {
					q = fmt.Sprintf("UPDATE %s SET a = a + 1 WHERE id = %d", ddl.Name(table), i+1)
				}
				began := time.Now()
				if _, err := db.Exec(q); err != nil {
					t.Errorf("a writer failed: %v", err)
					return
				}
				count.Add(1)
				if d := int64(time.Since(began)); d > longest.Load() {
					longest.Store(d)
				}
			}
		})
	}
	return count, func() time.Duration { cancel(); wg.Wait(); return time.Duration(longest.Load()) }
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

var change = Alteration{Table: table, SQL: "ADD INDEX `k a` (`a`, `s`)"}

func TestNativeUnderWriters(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor, 1<<16, "performance_schema=ON",
				"performance_schema_consumer_events_stages_current=ON",
				"performance_schema_instrument=stage/innodb/alter%=ON")
			count, stop := writers(t, s, 3)
			eventually(t, "writers write", func() bool { return count.Load() > 10 })
			before := count.Load()
			var ps []progress.Progress
			err := Native(t.Context(), x, change, func(p progress.Progress) { ps = append(ps, p) },
				func(n string) { t.Log(n) })
			during := count.Load() - before
			longest := stop()
			if err != nil {
				t.Fatalf("%v (%s)", err, target.HintOf(err))
			}
			if n := indexes(t, s); n != 2 {
				t.Errorf("%d indexes", n)
			}
			if during == 0 || longest > 20*time.Second {
				t.Errorf("%d statements went through during the change, the longest took %v", during, longest)
			}
			if len(ps) == 0 || !ps[len(ps)-1].End {
				t.Errorf("progress %+v", ps)
			}
			for _, p := range ps {
				if p.Done < 0 || p.Done > 100 || p.Started.IsZero() || p.At.Before(p.Started) || p.Step == "" {
					t.Errorf("progress %+v", p)
				}
			}
			// The index holds every row, those written meanwhile included.
			var all, through int
			db := s.DB(t, "")
			if err := db.QueryRow("SELECT COUNT(*) FROM " + ddl.Name(table) + " FORCE INDEX (PRIMARY)").
				Scan(&all); err != nil {
				t.Fatal(err)
			}
			if err := db.QueryRow("SELECT COUNT(*) FROM " + ddl.Name(table) + " FORCE INDEX (`k a`) WHERE a >= 0").
				Scan(&through); err != nil {
				t.Fatal(err)
			}
			if all != through || all < 1<<16 {
				t.Errorf("%d rows, %d through the index", all, through)
			}
			if err := Native(t.Context(), x, change, nil, nil); WhyOf(err) != Refused ||
				!strings.Contains(target.HintOf(err), "index of that name") {
				t.Errorf("twice: %v, %s", err, target.HintOf(err))
			}
			if err := Native(t.Context(), x, Alteration{Table: table, SQL: ddl.DropIndexClause("k a")}, nil,
				nil); err != nil || indexes(t, s) != 1 {
				t.Errorf("dropped: %v", err)
			}
		})
	}
}

func TestNativeWaitsForTheMetadataLockInShortTurns(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor, 4, "default_time_zone=+05:00", "performance_schema=ON",
				"performance_schema_instrument=wait/lock/metadata/sql/mdl=ON")
			tx, err := s.DB(t, "").Begin()
			if err != nil {
				t.Fatal(err)
			}
			var id int
			if err := tx.QueryRow("SELECT CONNECTION_ID()").Scan(&id); err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec("UPDATE " + ddl.Name(table) + " SET a = 7 WHERE id = 1"); err != nil {
				t.Fatal(err)
			}
			c := change
			c.LockWait, c.Attempts = time.Second, 2
			eventually(t, "the transaction has the table for longer than the lock is waited for", func() bool {
				hs, err := Holders(t.Context(), x, table, int(c.LockWait/time.Second))
				if err != nil {
					t.Fatal(err)
				}
				return len(hs) == 1
			})
			var notes []string
			alters, began := s.Status(t, "Com_alter_table"), time.Now()
			err = Native(t.Context(), x, c, nil, func(n string) { notes = append(notes, n) })
			took := time.Since(began)
			if n := s.Status(t, "Com_alter_table") - alters; n != 0 {
				t.Errorf("%d ALTER TABLE queued behind a transaction that was known to hold the table", n)
			}
			if WhyOf(err) != Locked || target.KindOf(err) != endpoint.Timeout ||
				!strings.Contains(err.Error(), fmt.Sprintf("thread %d (root@localhost)", id)) ||
				!strings.Contains(target.HintOf(err), "end the transaction") {
				t.Errorf("held: %v, %s", err, target.HintOf(err))
			}
			if len(notes) != 1 || !strings.Contains(notes[0], "attempt 1 of 2") {
				t.Errorf("notes %q", notes)
			}
			if took < 2*time.Second+firstGap-100*time.Millisecond {
				// it may take longer on a busy machine; that it ends is the other half
				t.Errorf("two waits of 1 s and a gap of 1 s took %v", took)
			}
			if indexes(t, s) != 1 {
				t.Error("something is left behind")
			}

			hs, err := Holders(t.Context(), x, table, 0)
			if err != nil || len(hs) != 1 || int(hs[0].Thread) != id || !hs[0].Sure || hs[0].Sec < 1 || hs[0].Sec > 60 {
				t.Errorf("holders %+v, %v", hs, err)
			}
			if hs, err := Holders(t.Context(), x, schema.Ref{Schema: "d", Table: "other"}, 0); err != nil ||
				len(hs) != 0 {
				t.Errorf("holders of another table %+v, %v", hs, err)
			}

			// Once the transaction ends, an attempt succeeds.
			c.Attempts = 20
			released := make(chan error, 1)
			var once sync.Once
			err = Native(t.Context(), x, c, nil, func(string) { once.Do(func() { released <- tx.Commit() }) })
			if err != nil || <-released != nil || indexes(t, s) != 2 {
				t.Errorf("after the end of the transaction: %v", err)
			}
		})
	}
}

// TestWithoutMetadataLocks has a server that does not show who holds them: the lock is waited for in the queue, for as
// short as was asked.
func TestWithoutMetadataLocks(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor, 4, "default_time_zone=-03:00",
				"performance_schema_instrument=wait/lock/metadata/sql/mdl=OFF")
			tx, err := s.DB(t, "").Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			if _, err := tx.Exec("UPDATE " + ddl.Name(table) + " SET a = 7 WHERE id = 1"); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the transaction is seen", func() bool {
				hs, err := Holders(t.Context(), x, table, 1)
				if err != nil {
					t.Fatal(err)
				}
				return len(hs) == 1 && !hs[0].Sure && hs[0].Sec < 60 &&
					strings.Contains(hs[0].String(), "perhaps on another table")
			})
			c := change
			c.LockWait, c.Attempts = time.Second, 1
			alters := s.Status(t, "Com_alter_table")
			err = Native(t.Context(), x, c, nil, nil)
			if n := s.Status(t, "Com_alter_table") - alters; n != 1 || WhyOf(err) != Locked ||
				!strings.Contains(err.Error(), "not free within 1s, held by thread") {
				t.Errorf("%d ALTER TABLE, %v", n, err)
			}
		})
	}
}

func TestCancelKillsTheChange(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			// Where it is seen who has the table, the ALTER would not be sent to wait for the lock.
			s, x := start(t, flavor, 1<<17, "performance_schema_instrument=wait/lock/metadata/sql/mdl=OFF")
			db := s.DB(t, "")
			running := func() bool {
				var n int
				err := db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() " +
					"AND INFO LIKE '%ALTER TABLE%'").Scan(&n)
				if err != nil {
					t.Fatal(err)
				}
				return n > 0
			}
			whileRunning := func() context.Context { // is cancelled once the server is at it
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					for ctx.Err() == nil && !running() {
						time.Sleep(time.Millisecond)
					}
					cancel()
				}()
				return ctx
			}
			err := Native(whileRunning(), x, change, nil, nil)
			if WhyOf(err) != Stopped || !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled in the middle: %v", err)
			}
			// The server shows the text of a statement for a moment after it has answered.
			eventually(t, "the change is over", func() bool { return !running() })
			if n := indexes(t, s); n != 1 {
				t.Errorf("it left an index: %d", n)
			}

			// While it waits for the lock.
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec("UPDATE " + ddl.Name(table) + " SET a = 7 WHERE id = 1"); err != nil {
				t.Fatal(err)
			}
			c := change
			c.LockWait = 5 * time.Second
			err = Native(whileRunning(), x, c, nil, nil)
			if WhyOf(err) != Stopped || !errors.Is(err, context.Canceled) ||
				!strings.Contains(target.HintOf(err), "half-way") {
				// not when the wait had ended
				t.Errorf("cancelled while waiting: %v, %s", err, target.HintOf(err))
			}
			eventually(t, "the change is over", func() bool { return !running() })
			tx.Rollback()

			// Between two attempts, and before the first.
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := Native(ctx, x, change, nil, nil); WhyOf(err) != Stopped {
				t.Errorf("cancelled before: %v", err)
			}
			if indexes(t, s) != 1 {
				t.Error("something is left behind")
			}
		})
	}
}

func TestKilledBySomebodyElse(t *testing.T) {
	s, x := start(t, "mariadb", 1<<17)
	db := s.DB(t, "")
	go func() {
		for {
			var id int
			if err := db.QueryRowContext(t.Context(), "SELECT IFNULL(MAX(ID), 0) FROM information_schema.PROCESSLIST "+
				"WHERE ID <> CONNECTION_ID() AND INFO LIKE '%ALTER TABLE%'").Scan(&id); err != nil {
				return
			}
			if id > 0 {
				db.ExecContext(t.Context(), fmt.Sprintf("KILL QUERY %d", id))
				return
			}
		}
	}()
	if err := Native(t.Context(), x, change, nil, nil); WhyOf(err) != Stopped ||
		!strings.Contains(target.HintOf(err), "took it back") {
		t.Errorf("got %v, %s", err, target.HintOf(err))
	}
	if indexes(t, s) != 1 {
		t.Error("something is left behind")
	}
}

func TestServerDiesDuringTheChange(t *testing.T) {
	s, x := start(t, "mariadb", 1<<17)
	db := s.DB(t, "")
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		for n := 0; n == 0; {
			if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID "+
				"<> CONNECTION_ID() AND INFO LIKE '%ALTER TABLE%'").Scan(&n); err != nil {
				return
			}
		}
		s.Kill(t)
	}()
	if err := Native(t.Context(), x, change, nil, nil); WhyOf(err) != Lost || !strings.Contains(target.HintOf(err),
		"check on the server") {
		t.Errorf("got %v, %s", err, target.HintOf(err))
	}
	<-killed
}

func TestNotOnlineIsRefused(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor, 4)
			f := func(sql string, why Why, hint string) {
				t.Helper()
				err := Native(t.Context(), x, Alteration{Table: table, SQL: sql}, nil, nil)
				if WhyOf(err) != why || !strings.Contains(target.HintOf(err), hint) ||
					!strings.Contains(err.Error(), table.String()) {
					t.Errorf("%s: %v: %v, %s", sql, WhyOf(err), err, target.HintOf(err))
				}
			}
			f("ADD FULLTEXT INDEX `f` (`j`)", NotOnline, "nothing was changed")
			f("MODIFY a BIGINT", NotOnline, "nothing was changed")
			f("ADD UNIQUE INDEX u (j(4))", Refused, "duplicate values")
			f("ADD INDEX k (nothing)", Refused, "")
			f("ADD INDEX", Refused, "")
			if indexes(t, s) != 1 {
				t.Error("something is left behind")
			}
			for _, c := range []Alteration{
				{},
				{Table: table},
				{Table: table, SQL: "x", Algorithm: "COPY"},
				{Table: table, SQL: "x", Lock: "SHARED"},
				{Table: table, SQL: "x", LockWait: time.Minute},
				{Table: table, SQL: "x", Attempts: -1},
			} {
				if err := Native(t.Context(), x, c, nil, nil); WhyOf(err) != Refused {
					t.Errorf("%+v: %v", c, err)
				}
			}
			s.Exec(t, "CREATE USER u@localhost", "GRANT SELECT ON `d``x`.* TO u@localhost")
			spec, err := endpoint.ParseURL(s.URL("u"))
			if err != nil {
				t.Fatal(err)
			}
			u, err := target.Open(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer u.Close()
			if err := Native(t.Context(), u, change, nil, nil); target.KindOf(err) != endpoint.Denied ||
				!strings.Contains(target.HintOf(err), "GRANT") {
				t.Errorf("without privileges: %v, %s", err, target.HintOf(err))
			}
		})
	}
}

func TestStatement(t *testing.T) {
	f := func(c Alteration, want string) {
		t.Helper()
		c.Table = schema.Ref{Schema: "d", Table: "t"}
		if got := c.Statement(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	f(Alteration{SQL: " ADD INDEX k (a) "}, "ALTER TABLE `d`.`t` ADD INDEX k (a), ALGORITHM=INPLACE, LOCK=NONE")
	f(Alteration{SQL: "ADD COLUMN b INT", Algorithm: "instant"}, "ALTER TABLE `d`.`t` ADD COLUMN b INT, "+
		"ALGORITHM=INSTANT")
}

// TestAServerThatIsSilentIsGivenUp: a change that is to be stopped on a server which says nothing more must not keep
// whoever stops it for ever, and what became of it is left open.
func TestAServerThatIsSilentIsGivenUp(t *testing.T) {
	s, x := start(t, "mariadb", 1<<18)
	t.Cleanup(func() { syscall.Kill(s.PID, syscall.SIGCONT) })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	change := Alteration{Table: table, SQL: "ADD INDEX k (a, s)", deaf: time.Second}
	done, once := make(chan error, 1), sync.Once{}
	go func() {
		done <- Native(ctx, x, change, func(progress.Progress) {
			once.Do(func() {
				syscall.Kill(s.PID, syscall.SIGSTOP)
				cancel()
			})
		}, nil)
	}()
	select {
	case err := <-done:
		if WhyOf(err) != Lost {
			t.Errorf("%v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Error("a change cannot be stopped on a server that is silent")
	}
}

// TestFloatOfAServer: a hostile server's progress is no number, and encoding/json refuses those.
func TestFloatOfAServer(t *testing.T) {
	for _, x := range []string{"nan", "NaN", "inf", "-Infinity", "1e400", "", "x"} {
		if f := float([]byte(x)); f != 0 {
			t.Errorf("%q is %v", x, f)
		}
	}
	if f := float(math.Inf(1)); f != 0 {
		t.Error(f)
	}
	if f := float([]byte("12.5")); f != 12.5 {
		t.Error(f)
	}
}
