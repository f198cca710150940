package sources

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/state"
)

func TestDDLWatch(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var d ddlWatch
	// look shows sessions "id seconds statement" some seconds after the start and tells the events: "+from text" and
	// "-from..until".
	look := func(after int, want string, sessions ...string) {
		t.Helper()
		var list []state.Session
		for _, s := range sessions {
			f := strings.SplitN(s, " ", 3)
			x := state.Session{Command: "Query", SQL: f[2]}
			fmt.Sscan(f[0]+" "+f[1], &x.ID, &x.Seconds)
			list = append(list, x)
		}
		d.look(at.Add(time.Duration(after)*time.Second), list)
		var got []string
		for _, e := range d.take() {
			if e.Kind != event.DDL || e.ID == "" {
				t.Errorf("%+v", e)
			}
			from := int(e.At.Sub(at).Seconds())
			if e.Until.IsZero() {
				got = append(got, fmt.Sprintf("+%d %s", from, e.Text))
			} else {
				got = append(got, fmt.Sprintf("-%d..%d", from, int(e.Until.Sub(at).Seconds())))
			}
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("after %d: got %q, want %q", after, s, want)
		}
	}
	look(0, "", "1 5 SELECT 1", "2 0 INSERT INTO alter_table VALUES (1)")
	look(10, "+7 ALTER TABLE t ADD x INT DEFAULT ?", "1 3 ALTER  TABLE\n t ADD x INT DEFAULT 7")
	look(11, "", "1 4 ALTER  TABLE\n t ADD x INT DEFAULT 7")
	look(12, "-7..12", "1 0 SELECT 1")
	look(20, "+20 DROP TABLE a, +19 CREATE UNIQUE INDEX i ON t (x)", "3 0 DROP TABLE a",
		"4 1 /* c */ CREATE UNIQUE INDEX i ON t (x)")
	look(30, "-20..20, +30 DROP TABLE a, -19..30", "3 0 DROP TABLE a") // another one with the same words
	look(31, "-30..31")
	look(40, "", "5 1 CREATE USER x IDENTIFIED BY 'secret'", "6 1 SHOW CREATE TABLE t")
}

// TestDDLWatchFolds lets an application change its schema all the time: of each minute a few events are told, and the
// rest is counted.
func TestDDLWatchFolds(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	var d ddlWatch
	var texts []string
	ids := map[string]bool{}
	n := 0
	for sec := range 180 {
		sessions := []state.Session{{ID: 7, Command: "Query", SQL: "SELECT 1"}}
		for i := range 30 {
			sessions = append(sessions, state.Session{
				ID: uint64(100 + i), Command: "Query",
				SQL: fmt.Sprintf("CREATE TABLE tmp_%d_%d (id INT)", sec, i),
			})
			sessions = append(sessions, state.Session{
				ID: uint64(200 + i), Command: "Query",
				SQL: fmt.Sprintf("TRUNCATE TABLE %c%c", 'a'+sec%26, 'a'+i%26),
			})
		}
		d.look(at.Add(time.Duration(sec)*time.Second), sessions)
		n += 60
		for _, e := range d.take() {
			ids[e.ID] = true
			if strings.Contains(e.Text, "more") {
				texts = append(texts, e.Text)
			}
		}
	}
	if len(ids) > 3*ddlKinds*ddlEach+1 { // of the folded ones the store makes the id
		t.Errorf("%d events of %d changes", len(ids), n)
	}
	if len(texts) == 0 || len(texts) > 3*(ddlKinds+1) ||
		!strings.HasPrefix(texts[0], "1797 more: CREATE TABLE tmp_#_#") {
		t.Errorf("told %q", texts)
	}
}
