package demo_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
)

// state is everything of a server that an action may change: the definitions of all tables of users and all global
// variables.
func serverState(t *testing.T, db *sql.DB) string {
	t.Helper()
	var out []string
	rows, err := db.Query("SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE " +
		"TABLE' AND TABLE_SCHEMA NOT IN ('mysql','sys','performance_schema','information_schema')")
	if err != nil {
		t.Fatal(err)
	}
	var refs []schema.Ref
	for rows.Next() {
		var r schema.Ref
		if err := rows.Scan(&r.Schema, &r.Table); err != nil {
			t.Fatal(err)
		}
		refs = append(refs, r)
	}
	rows.Close()
	if err := rows.Err(); err != nil || len(refs) == 0 {
		t.Fatalf("%d tables, %v", len(refs), err)
	}
	for _, r := range refs {
		var name, text string
		if err := db.QueryRow("SHOW CREATE TABLE "+ddl.Name(r)).Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(text, "\n") {
			line = strings.TrimSuffix(strings.TrimSpace(line), ",")
			if i := strings.Index(line, " AUTO_INCREMENT="); i >= 0 { // the counter, which inserts move
				line = line[:i] + strings.TrimLeft(line[i+len(" AUTO_INCREMENT="):], "0123456789")
			}
			out = append(out, r.String()+" "+line)
		}
	}
	rows, err = db.Query("SHOW GLOBAL VARIABLES")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var n, v string
		if err := rows.Scan(&n, &v); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(n, "gtid") {
			out = append(out, n+"="+v)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// TestEveryKindAppliedAndUndone finds a planted fault of every kind of advice, carries the finding's change out on the
// live server and takes it back: the server is then as it was.
func TestEveryKindAppliedAndUndone(t *testing.T) {
	p := newPlace(t)
	f := func(fault, server, kind string) {
		t.Helper()
		o := p.last(p.dyno("demo", fault, "--no-cure", "--keep", "--random-names", "--seed", "11", "--server",
			server, "--output", "json"))
		if !o.Found || o.Sandbox == "" {
			t.Errorf("%s was not found: %+v", fault, o.Findings)
			return
		}
		defer p.dyno("sandbox", "rm", o.Sandbox)
		var box struct{ URL, Socket string }
		for line := range strings.SplitSeq(strings.TrimSpace(p.dyno("sandbox", "ls", "--output", "json")), "\n") {
			if strings.Contains(line, `"`+o.Sandbox+`"`) {
				if err := json.Unmarshal([]byte(line), &box); err != nil {
					t.Fatal(err)
				}
			}
		}
		spec, err := endpoint.ParseURL("unix://" + box.Socket + "?user=root")
		if err != nil {
			t.Fatalf("%v: %+v", err, box)
		}
		tg, err := target.Open(context.Background(), spec)
		if err != nil {
			t.Fatal(err)
		}
		defer tg.Close()
		before := serverState(t, tg.DB())
		id := ""
		for _, x := range o.Findings {
			if x.Rule == fault {
				id = x.ID
			}
		}
		var dry struct {
			Preview struct {
				Action struct{ Kind, SQL, Undo string }
			}
		}
		if err := json.Unmarshal([]byte(p.dyno("apply", "sandbox:"+o.Sandbox, id, "--output", "json")),
			&dry); err != nil {
			t.Fatal(err)
		}
		if a := dry.Preview.Action; a.Kind != kind || a.Undo == "" {
			t.Errorf("%s: %+v, want %s", fault, a, kind)
		}
		if serverState(t, tg.DB()) != before {
			t.Errorf("%s: the dry run changed the server", fault)
		}
		var e struct{ ID, State string }
		if err := json.Unmarshal([]byte(p.dyno("apply", "sandbox:"+o.Sandbox, id, "--execute", "--output", "json")),
			&e); err != nil || e.State != "done" {
			t.Errorf("%s: %v %+v", fault, err, e)
			return
		}
		if serverState(t, tg.DB()) == before {
			t.Errorf("%s: %s changed nothing", fault, dry.Preview.Action.SQL)
		}
		p.dyno("undo", e.ID, "--execute")
		if after := serverState(t, tg.DB()); after != before {
			t.Errorf("%s: after the undo of %s the server is not as it was:\n%s", fault,
				dry.Preview.Action.SQL, differ(before, after))
		}
	}
	f("missing-index", "mysql@9.7", "add_index")
	f("redundant-index", "mariadb", "hide_index")
	f("hot-column-in-pk", "mariadb", "alter_table")
	f("small-buffer-pool", "mysql@9.7", "set_variable")
}

// differ lists the lines that only one of two texts has.
func differ(a, b string) string {
	in := func(all []string, l string) bool { return slices.Contains(all, l) }
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	var out []string
	for _, l := range x {
		if !in(y, l) {
			out = append(out, "- "+l)
		}
	}
	for _, l := range y {
		if !in(x, l) {
			out = append(out, "+ "+l)
		}
	}
	return strings.Join(out, "\n")
}
