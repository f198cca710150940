package scrape

import (
	"slices"
	"testing"

	"dyno/internal/state"
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
		if got := edges(infoWaits(hs, ss)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	f("behind an ALTER",
		[]ticket{held(1, "SHARED_READ", "Table metadata lock", "t"), held(2, "SHARED_UPGRADABLE", "Table metadata lock", "t"), held(9, "SHARED_READ", "Table metadata lock", "u")},
		[]state.Session{waits(2, mdl, "ALTER TABLE t ADD x INT"), waits(3, mdl, "SELECT * FROM d.t"), waits(4, mdl, "UPDATE t SET x=1")},
		"2>1 metadata d.t", "3>2 metadata d.t", "4>2 metadata d.t")
	f("LOCK TABLES", []ticket{held(1, "SHARED_NO_READ_WRITE", "Table metadata lock", "t")}, []state.Session{waits(2, mdl, "INSERT INTO t VALUES (1)")}, "2>1 table d.t")
	f("everything is closed", []ticket{held(1, "BACKUP_FTWRL2", "Backup lock", ""), held(3, "BACKUP_DML", "Backup lock", "")}, []state.Session{waits(2, backup, "INSERT INTO t VALUES (1)")}, "2>1 global ")
	f("who wants to close waits for who writes", []ticket{held(1, "BACKUP_TRANS_DML", "Backup lock", "")}, []state.Session{waits(2, backup, "FLUSH TABLES WITH READ LOCK")}, "2>1 global ")
	f("a statement that tells no table", []ticket{held(1, "EXCLUSIVE", "Table metadata lock", "t")}, []state.Session{waits(2, mdl, "CALL p()")})
	f("tables in use", []ticket{held(1, "SHARED_READ", "Table metadata lock", "t")}, []state.Session{waits(2, "Waiting for table flush", "FLUSH TABLES")})
}
