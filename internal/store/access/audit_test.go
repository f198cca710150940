package access

import (
	"fmt"
	"strings"
	"testing"
)

func TestAudit(t *testing.T) {
	s, _ := store(t)
	ctx := t.Context()
	a, err := s.Audit.Begin(ctx, Entry{
		Who: "anna", Via: "session", From: "192.0.2.1", What: "POST /apply",
		Detail: "target=shop\x1b[31m",
	})
	ok(t, err)
	b, err := s.Audit.Begin(ctx, Entry{Who: "ben", What: "login", Minor: true, Outcome: "done", Status: 200})
	ok(t, err)
	ok(t, s.Audit.End(ctx, a, 409, "refused: "+strings.Repeat("x", 1000)))
	c, err := s.Audit.Begin(ctx, Entry{Who: "anna", What: "POST /undo"})
	ok(t, err)
	all, err := s.Audit.List(ctx, 0, 10)
	ok(t, err)
	if len(all) != 3 || all[0].ID != c || all[0].Outcome != "" || all[1].ID != b || !all[1].Minor ||
		all[1].Outcome != "done" ||
		all[2].Status != 409 || len(all[2].Outcome) != 500 || strings.Contains(all[2].Detail, "\x1b") ||
		all[2].Who != "anna" {
		t.Fatalf("%+v", all)
	}
	if older, err := s.Audit.List(ctx, b, 10); err != nil || len(older) != 1 || older[0].ID != a {
		t.Fatalf("%+v, %v", older, err)
	}
}

func TestAuditIsAppendOnly(t *testing.T) {
	s, _ := store(t)
	ctx := t.Context()
	id, err := s.Audit.Begin(ctx, Entry{Who: "anna", What: "POST /apply"})
	ok(t, err)
	ok(t, s.Audit.End(ctx, id, 200, "done"))
	db, err := s.file.DB(ctx, false)
	ok(t, err)
	for _, q := range []string{
		"UPDATE audit SET who = 'eve'", "DELETE FROM audit",
		"DELETE FROM audit WHERE kind = 'outcome'", "DELETE FROM audit WHERE kind = 'change'",
	} {
		if _, err := db.ExecContext(ctx, q); err == nil || !strings.Contains(err.Error(), "append only") {
			t.Errorf("%s: %v", q, err)
		}
	}
}

func TestAuditIsBounded(t *testing.T) {
	s, _ := store(t)
	ctx := t.Context()
	first, err := s.Audit.Begin(ctx, Entry{Who: "anna", What: "POST /apply"})
	ok(t, err)
	ok(t, s.Audit.End(ctx, first, 200, "done"))
	db, err := s.file.DB(ctx, false)
	ok(t, err)
	login, err := s.Audit.Begin(ctx, Entry{Who: "ben", What: "login", Minor: true, Status: 200, Outcome: "done"})
	ok(t, err)
	fill := func(kind string, n int) {
		t.Helper()
		_, err = db.ExecContext(ctx,
			fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO audit (at, kind, who, via, address, what, detail, of, status, outcome) SELECT 0, '%s', 'eve', '', '', 'x', '', 0, 401, '' FROM n`, n, kind))
		ok(t, err)
	}
	last := func() Entry {
		t.Helper()
		var e Entry
		ok(t, db.QueryRow("SELECT min(id), count(*) FROM audit WHERE kind <> 'outcome'").Scan(&e.ID, &e.Status))
		return e
	}
	fill("minor", keptEntries-1)
	_, err = s.Audit.Begin(ctx, Entry{Who: "eve", What: "login", Minor: true})
	ok(t, err)
	if e := last(); e.ID != first || e.Status != keptEntries+1 { // a flood of logins pushes no change out
		t.Fatalf("%+v", e)
	}
	// Nor does what one user does, or fails to do, push out what others did.
	minors := map[string][]int64{}
	all, err := s.Audit.List(ctx, 0, 2*keptEntries)
	ok(t, err)
	for _, e := range all {
		if e.Minor {
			minors[e.Who] = append(minors[e.Who], e.ID)
		}
	}
	if len(minors["ben"]) != 1 || minors["ben"][0] != login || len(minors["eve"]) != keptEntries-1 {
		t.Fatalf("of ben %v, of eve %d", minors["ben"], len(minors["eve"]))
	}
	fill("change", keptEntries)
	_, err = s.Audit.Begin(ctx, Entry{Who: "eve", What: "POST /x"})
	ok(t, err)
	var n int
	ok(t, db.QueryRow("SELECT count(*) FROM audit WHERE kind = 'change'").Scan(&n))
	if n != keptEntries {
		t.Errorf("%d changes are kept", n)
	}
	ok(t, db.QueryRow("SELECT count(*) FROM audit WHERE kind = 'outcome'").Scan(&n))
	if n != 0 {
		t.Errorf("%d outcomes are left of nothing", n)
	}
}
