package history

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
)

func TestOneStatementHasOneID(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	at := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	put := func(c class.Class) {
		t.Helper()
		c.Count, c.TimeSec, c.Schema = 1, 1, "shop"
		ok(t, h.PutClasses(t.Context(), "shop", at, at.Add(time.Minute), []class.Class{c}))
		at = at.Add(time.Minute)
	}
	written := "select id,name from customers where email=?"
	guessed := "select id, name from customers where email = ?"
	id := class.ID(written)
	digest := class.Class{
		ID: class.ID(guessed), Fingerprint: guessed, Guessed: true, Digest: "0123abcd",
		Origin: class.PerformanceSchema,
	}
	put(digest)
	put(class.Class{ID: id, Fingerprint: written, Origin: class.Processlist, Sampled: true}) // the statement is seen
	// by a Dyno that has not seen it yet
	put(digest)
	put(class.Class{ID: id, Fingerprint: written, Origin: class.SlowLog})
	other := "select name,id from customers where email=?"
	put(class.Class{ID: class.ID(other), Fingerprint: other, Origin: class.SlowLog})
	all, _, err := h.Classes(t.Context(), "shop", at.Add(-time.Hour), at, 0)
	ok(t, err)
	n := 0
	for _, c := range all {
		if c.ID == class.ID(other) {
			continue
		}
		n++
		if c.ID != id || c.Fingerprint != written || c.Guessed || c.Origin == class.PerformanceSchema &&
			(c.Count != 2 || c.Digest != "0123abcd") {
			t.Errorf("%+v", c)
		}
	}
	if n < 2 || len(all) != n+1 {
		t.Errorf("%d classes: %+v", len(all), all)
	}
	for _, name := range []string{class.ID(guessed), "0123abcd", id} {
		if got, err := h.Name(t.Context(), name); got != id || err != nil {
			t.Errorf("%s leads to %s, %v", name, got, err)
		}
	}
	if got, err := h.Name(t.Context(), "nothing"); got != "nothing" || err != nil {
		t.Error(got, err)
	}
	// A server may call a digest what it likes.
	put(class.Class{ID: "00ff", Fingerprint: "select 1", Digest: id, Origin: class.PerformanceSchema})
	if got, err := h.Name(t.Context(), id); got != id || err != nil {
		t.Errorf("%s leads to %s, %v", id, got, err)
	}
	if _, err := h.db.Exec("DELETE FROM figure"); err != nil {
		t.Fatal(err)
	}
	ok(t, h.retention.sweep(t.Context()))
	var left int
	if err := h.db.QueryRow("SELECT (SELECT count(*) FROM class) + (SELECT count(*) FROM alias)").
		Scan(&left); err != nil || left != 0 {
		t.Errorf("%d classes and names are left: %v", left, err)
	}
}

// TestClassesAreFoundByIndex: each class of each minute is looked for among all that there ever were.
func TestClassesAreFoundByIndex(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	f := func(q, by string) {
		t.Helper()
		how, err := query(t.Context(), h.db, func(r *sql.Rows, s *string) error {
			return r.Scan(new(int), new(int), new(int), s)
		},
			"EXPLAIN QUERY PLAN "+q, make([]any, strings.Count(q, "?"))...)
		ok(t, err)
		if len(how) != 1 || !strings.HasPrefix(how[0], "SEARCH") || !strings.HasSuffix(how[0], by) {
			// another line sorts
			t.Errorf("%s: %q, want by %s alone", q, how, by)
		}
	}
	f(findKey, "(key=?)")
	f(findGuessed, "(key=? AND guessed=?)")
	f(findClass, "(class=? AND schema=? AND origin=? AND sampled=?)")
	for _, q := range []string{renameClass, renamePlan, renameSample} {
		f(q, "(class=?)")
	}
}

// TestWhatIsKnownIsNotGuessed: what was guessed is looked for once, however many schemas it is of
// and other spellings it has.
func TestWhatIsKnownIsNotGuessed(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	at := noon
	f := func(guessed bool, fingerprint string, want int) {
		t.Helper()
		var cs []class.Class
		for _, schema := range []string{"a", "b", at.Format("04")} {
			cs = append(cs, class.Class{
				ID: class.ID(fingerprint), Fingerprint: fingerprint, Schema: schema,
				Guessed: guessed, Origin: class.PerformanceSchema, Count: 1,
			})
		}
		ok(t, h.PutClasses(t.Context(), "shop", at, at.Add(time.Minute), cs))
		at = at.Add(time.Minute)
		var n int
		ok(t, h.db.QueryRow("SELECT count(*) FROM class WHERE guessed").Scan(&n))
		if n != want {
			t.Errorf("%s: %d classes are guessed, want %d", fingerprint, n, want)
		}
	}
	f(true, "select a from t", 3)
	f(false, "select a from t", 0)
	f(true, "select a from  t", 0)
	f(false, "select a  from t", 0)
}
