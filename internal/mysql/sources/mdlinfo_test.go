package sources

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/dyno-perf/dyno/internal/state"
)

func TestInfoWaits(t *testing.T) {
	held := func(id uint64, mode, space, object string) ticket {
		x := ticket{session: id, mode: mode, space: space, granted: true}
		if object != "" {
			x.schema, x.name = "d", object
		}
		return x
	}
	waits := func(id uint64, phase, sql string) state.Session {
		return state.Session{ID: id, DB: "d", Command: "Query", Phase: phase, SQL: sql}
	}
	const mdl, backup = "Waiting for table metadata lock", "Waiting for backup lock"
	f := func(name string, hs []ticket, ss []state.Session, want ...string) {
		t.Helper()
		waits, err := infoWaits(t.Context(), hs, ss)
		if got := edges(waits); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q: %v", name, got, want, err)
		}
	}
	f("behind an ALTER",
		[]ticket{held(1, "SHARED_READ", "Table metadata lock", "t"), held(2, "SHARED_UPGRADABLE", "Table metadata lock",
			"t"), held(9, "SHARED_READ", "Table metadata lock", "u")},
		[]state.Session{
			waits(2, mdl, "ALTER TABLE t ADD x INT"), waits(3, mdl, "SELECT * FROM d.t"),
			waits(4, mdl, "UPDATE t SET x=1"),
		},
		"2>1 metadata d.t", "3>2 metadata d.t", "4>2 metadata d.t")
	f("LOCK TABLES", []ticket{held(1, "SHARED_NO_READ_WRITE", "Table metadata lock", "t")},
		[]state.Session{waits(2, mdl, "INSERT INTO t VALUES (1)")}, "2>1 table d.t")
	f("everything is closed", []ticket{held(1, "BACKUP_FTWRL2", "Backup lock", ""), held(3, "BACKUP_DML", "Backup lock",
		"")}, []state.Session{waits(2, backup, "INSERT INTO t VALUES (1)")}, "2>1 global ")
	f("who wants to close waits for who writes", []ticket{held(1, "BACKUP_TRANS_DML", "Backup lock", "")},
		[]state.Session{waits(2, backup, "FLUSH TABLES WITH READ LOCK")}, "2>1 global ")
	f("a statement that tells no table", []ticket{held(1, "EXCLUSIVE", "Table metadata lock", "t")},
		[]state.Session{waits(2, mdl, "CALL p()")})
	f("tables in use", []ticket{held(1, "SHARED_READ", "Table metadata lock", "t")},
		[]state.Session{waits(2, "Waiting for table flush", "FLUSH TABLES")})
}

// TestQueueOfStatementsIsBounded: a thousand sessions behind a thousand others are not a million waits, nor the work of
// as many.
func TestQueueOfStatementsIsBounded(t *testing.T) {
	var held []ticket
	var tables, everything []state.Session
	for i := range uint64(1000) {
		held = append(held, ticket{
			space: "Table metadata lock", schema: "d", name: "t", mode: "EXCLUSIVE",
			granted: true, session: 1 + i,
		},
			ticket{space: "Backup lock", mode: "BACKUP_FTWRL1", granted: true, session: 1 + i})
		x := state.Session{
			ID: 5000 + i, DB: "d", SQL: "ALTER TABLE t FORCE", Phase: "Waiting for table metadata lock",
			Command: "Query",
		}
		tables = append(tables, x)
		x.Phase = "Waiting for backup lock"
		everything = append(everything, x)
	}
	for _, waiting := range [][]state.Session{tables, everything} {
		waits, err := infoWaits(t.Context(), held, waiting)
		if err != nil {
			t.Fatal(err)
		}
		all(t, waits, len(waiting))
		if cap(waits) > 4*len(waits) {
			t.Errorf("room for %d waits was made for %d", cap(waits), len(waits))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := infoWaits(ctx, held, tables); err == nil {
		t.Error("nobody waits for the answer, and it was given")
	}
}

// TestLocksWithoutEnd: a server that answers with more locks than were asked for.
func TestLocksWithoutEnd(t *testing.T) {
	s := &locks{q: without{end: 3 * mostTickets}}
	info, err := s.infoTickets(t.Context())
	if err != nil || len(info) != mostTickets {
		t.Errorf("%d locks of the plugin: %v", len(info), err)
	}
	pfs, err := s.tickets(t.Context())
	if err != nil || len(pfs) != mostTickets {
		t.Errorf("%d locks: %v", len(pfs), err)
	}
	long := state.Session{ID: 1, SQL: "SELECT * FROM a"}
	for n := range 1000 {
		long.SQL += fmt.Sprint(",a", n)
	}
	if n := len(wanted(long)); n > mostWanted {
		t.Errorf("%d locks that one statement wants", n)
	}
}
