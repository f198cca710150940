package apply

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/test/servers"
)

// shown is the table's definition as the server writes it, without the counter.
func shown(t *testing.T, s *servers.Server) string {
	t.Helper()
	var name, text string
	if err := s.DB(t, "").QueryRow("SHOW CREATE TABLE "+quoted).Scan(&name, &text); err != nil {
		t.Fatal(err)
	}
	return strings.Join(parseDefinition(text).lines, "\n")
}

func variable(t *testing.T, s *servers.Server, name string) string {
	t.Helper()
	var n, v string
	if err := s.DB(t, "").QueryRow("SHOW GLOBAL VARIABLES LIKE '"+name+"'").Scan(&n, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestEveryKindIsTakenBack carries out one action of every kind and takes it back: the server is as it was.
func TestEveryKindIsTakenBack(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor)
			j := newJournal(t)
			kas := schema.Index{Name: "kas", Type: "BTREE", Parts: []schema.IndexPart{col("a"), col("s")}}
			table := func(changes ...schema.Clause) finding.Action {
				return finding.Action{
					Kind: finding.AlterTable, Table: table, Changes: changes,
					SQL: "DROP TABLE " + quoted,
				}
			}
			s.Exec(t, "SET GLOBAL log_output='TABLE'", "SET GLOBAL general_log=ON")
			sent := func() (all []string) { // what changes something, without the note that says whose it is
				t.Helper()
				rows, err := s.DB(t, "").Query("SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE " +
					"command_type = 'Query' AND argument LIKE '/* dyno%' ORDER BY event_time")
				if err != nil {
					t.Fatal(err)
				}
				defer rows.Close()
				for rows.Next() {
					var q string
					if err := rows.Scan(&q); err != nil {
						t.Fatal(err)
					}
					_, q, _ = strings.Cut(q, "*/ ")
					if strings.HasPrefix(q, "ALTER") || strings.HasPrefix(q, "SET GLOBAL") {
						all = append(all, q)
					}
				}
				if err := rows.Err(); err != nil {
					t.Fatal(err)
				}
				s.Exec(t, "TRUNCATE mysql.general_log")
				return all
			}
			n := 0
			f := func(a finding.Action, want string, o Options) {
				t.Helper()
				n++
				id := fmt.Sprintf("a-%d", n)
				before, pool := shown(t, s), variable(t, s, "long_query_time")
				p, err := PreviewChange(t.Context(), x, finding.Finding{Action: &a}, o)
				if err != nil || !p.OK() {
					t.Errorf("%s: %v %v", a.Kind, err, p.Blockers)
					return
				}
				if shown(t, s) != before {
					t.Errorf("%s: planning changed the table", a.Kind)
				}
				e, err := Apply(t.Context(), x, j, journal.Entry{ID: id, Action: a}, o, nil,
					func(n string) { t.Log(n) })
				if err != nil || e.State != journal.Done {
					t.Errorf("%s: %v %+v", p.Action.SQL, err, e.State)
					return
				}
				if got := sent(); len(got) != 1 || got[0] != p.Action.SQL {
					t.Errorf("%s was agreed to, and sent is %q", p.Action.SQL, got)
				}
				if now := shown(t, s) + variable(t, s, "long_query_time"); !strings.Contains(now, want) {
					t.Errorf("%s: %q is not in\n%s", p.Action.SQL, want, now)
				}
				if shown(t, s) == before && variable(t, s, "long_query_time") == pool {
					t.Errorf("%s changed nothing", p.Action.SQL)
				}
				kept, err := j.Entry(t.Context(), id)
				if err != nil || kept.Action.Undo == "" || strings.Contains(kept.Action.SQL, "DROP TABLE") {
					t.Errorf("the journal has %+v, %v", kept.Action, err)
				}
				back, err := PreviewUndo(t.Context(), x, j, e, o)
				if err != nil || !back.OK() {
					t.Errorf("undo of %s: %v %v", p.Action.SQL, err, back.Blockers)
				}
				if e, err = Undo(t.Context(), x, j, id, o, nil, nil); err != nil || e.State != journal.Undone {
					t.Errorf("undo of %s: %v", p.Action.SQL, err)
				}
				if got := sent(); len(got) != 1 || got[0] != back.SQL {
					t.Errorf("%s was agreed to, and sent is %q", back.SQL, got)
				}
				if now := shown(t, s); now != before {
					t.Errorf("after the undo of %s:\n%s\nbefore:\n%s", p.Action.SQL, now, before)
				}
				if now := variable(t, s, "long_query_time"); now != pool {
					t.Errorf("long_query_time was %s and is %s", pool, now)
				}
			}
			f(adds, "`dyno j`", Options{})
			f(finding.Action{Kind: finding.DropIndex, Table: adds.Table, Index: kas}, "k_s", Options{})
			word := map[string]string{"mariadb": "IGNORED", "mysql": "INVISIBLE"}[flavor]
			f(finding.Action{Kind: finding.HideIndex, Table: adds.Table, Index: kas}, word, Options{})
			// the server calls it kas
			f(finding.Action{Kind: finding.HideIndex, Table: adds.Table, Index: schema.Index{Name: "KAS"}}, word,
				Options{})
			f(finding.Action{Kind: finding.SetVariable, Variable: "long_query_time", Value: "3.5"}, "3.5", Options{})
			f(table(schema.Clause{Kind: schema.ModifyColumn, Column: "s", Definition: "varchar(120) DEFAULT NULL"}),
				"varchar(120)", Options{Blocking: true})
			f(table(schema.Clause{Kind: schema.ModifyColumn, Column: "a", Definition: "bigint NOT NULL"}), "bigint",
				Options{Blocking: true})
			f(table(schema.Clause{Kind: schema.DropKey, Index: kas}, schema.Clause{
				Kind:  schema.AddKey,
				Index: schema.Index{Name: "other", Parts: []schema.IndexPart{col("s"), col("a")}},
			}), "other", Options{})
			f(table(schema.Clause{Kind: schema.PrimaryKey, Index: schema.Index{
				Name: "PRIMARY", Unique: true,
				Parts: []schema.IndexPart{col("id"), col("a")},
			}}), "(`id`,`a`)", Options{})
			f(table(schema.Clause{Kind: schema.TableOption, Option: "ROW_FORMAT", Value: "COMPACT"}), "COMPACT",
				Options{})
			f(table(schema.Clause{Kind: schema.AddColumn, Column: "g", Definition: "int GENERATED ALWAYS AS (a + 1) " +
				"VIRTUAL"},
				schema.Clause{Kind: schema.AddKey, Index: schema.Index{
					Name:  "by_g",
					Parts: []schema.IndexPart{col("g")},
				}}), "by_g", Options{Blocking: true})

			// A rebuild leaves nothing to take back, and says so.
			a := table(schema.Clause{Kind: schema.Rebuild})
			if e, err := Apply(t.Context(), x, j, journal.Entry{ID: "r", Action: a}, Options{}, nil, nil); err != nil ||
				e.State != journal.Done {
				t.Errorf("rebuild: %v", err)
			}
			if _, err := Undo(t.Context(), x, j, "r", Options{}, nil, nil); err == nil ||
				!strings.Contains(err.Error(), "nothing to undo") {
				t.Errorf("undo of a rebuild: %v", err)
			}
		})
	}
}

// TestKindsRefuse has what stands against each kind.
func TestKindsRefuse(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor)
			s.Exec(t, "USE `my``shop`", "CREATE TABLE kid (id INT PRIMARY KEY, p INT, u INT, UNIQUE KEY uniq (u), "+
				"KEY by_p (p), CONSTRAINT fk FOREIGN KEY (p) REFERENCES "+quoted+" (id))")
			kid := schema.Ref{Schema: table.Schema, Table: "kid"}
			f := func(a finding.Action, want string) {
				t.Helper()
				p, err := PreviewChange(t.Context(), x, finding.Finding{Action: &a}, Options{})
				if err != nil || p.OK() || !strings.Contains(strings.Join(p.Blockers, "\n"), want) {
					t.Errorf("%s: %q, %v\nwant %s", a.Kind, p.Blockers, err, want)
				}
			}
			drop := func(ref schema.Ref, name string, cols ...string) finding.Action {
				a := finding.Action{Kind: finding.DropIndex, Table: ref, Index: schema.Index{Name: name, Type: "BTREE"}}
				for _, c := range cols {
					a.Index.Parts = append(a.Index.Parts, col(c))
				}
				return a
			}
			set := func(name, value string) finding.Action {
				return finding.Action{Kind: finding.SetVariable, Variable: name, Value: value}
			}
			f(drop(table, "nothing", "a"), "no index nothing")
			f(drop(table, "PRIMARY", "id"), "no secondary index")
			f(drop(table, "kas", "s"), "different now")
			f(drop(kid, "uniq", "u"), "is unique")
			f(finding.Action{Kind: finding.HideIndex, Table: table, Index: schema.Index{Name: "nothing"}}, "no index "+
				"nothing")
			f(set("no_such_thing", "1"), "no variable")
			f(set("long_query_time; DROP DATABASE d", "1"), "names no variable")
			f(set("long_query_time", variable(t, s, "long_query_time")), "already")
			f(finding.Action{Kind: finding.AlterTable, Table: table}, "names no change")
			f(finding.Action{
				Kind: finding.AlterTable, Table: table,
				Changes: []schema.Clause{{Kind: schema.DropColumn, Column: "j"}},
			}, "cannot be undone")
			f(finding.Action{
				Kind: finding.AlterTable, Table: table,
				Changes: []schema.Clause{{Kind: schema.ModifyColumn, Column: "zz", Definition: "int"}},
			}, "no column zz")
			// Texts that a number would not keep.
			s.Exec(t, "USE `my``shop`", "CREATE TABLE texts (id INT PRIMARY KEY, zeros VARCHAR(10), word CHAR(10), "+
				"frac TEXT, num VARCHAR(20) CHARACTER SET latin1, at VARCHAR(30))",
				"INSERT INTO texts VALUES (1, '7', '7', '1', '-12', '2026-11-22'), (2, '007', 'x', '1.5', '40', "+
					"'2026-11-21'), (3, NULL, NULL, NULL, NULL, NULL)")
			texts := schema.Ref{Schema: table.Schema, Table: "texts"}
			typed := func(column, definition string) finding.Action {
				return finding.Action{
					Kind: finding.AlterTable, Table: texts,
					Changes: []schema.Clause{{Kind: schema.ModifyColumn, Column: column, Definition: definition}},
				}
			}
			f(typed("zeros", "int"), "1 of the rows hold texts in column zeros")
			f(typed("word", "bigint unsigned"), "1 of the rows")
			f(typed("frac", "int"), "1 of the rows")
			f(typed("frac", "decimal(10,2)"), "2 of the rows") // 1.5 becomes 1.50
			f(typed("num", "int unsigned"), "1 of the rows")
			f(typed("at", "datetime"), "2 of the rows")
			f(typed("num", "double"), "is unknown")
			for column, definition := range map[string]string{
				"num": "int", "at": "date", "zeros": "varchar(20)",
				"word": "varchar(30)",
			} {
				a := typed(column, definition)
				p, err := PreviewChange(t.Context(), x, finding.Finding{Action: &a}, Options{Blocking: true})
				if err != nil || !p.OK() {
					t.Errorf("%s as %s: %q, %v", column, definition, p.Blockers, err)
				}
			}
			if flavor == "mariadb" {
				f(set("innodb_log_buffer_size", "1"), "cannot be changed while the server runs")
			}
			// A value that somebody changed since is not taken back.
			j := newJournal(t)
			e, err := Apply(t.Context(), x, j, journal.Entry{ID: "v", Action: set("long_query_time", "4")}, Options{},
				nil, nil)
			if err != nil || e.Action.Was == "" {
				t.Fatalf("%v %+v", err, e.Action)
			}
			s.Exec(t, "SET GLOBAL long_query_time = 7")
			if _, err := Undo(t.Context(), x, j, "v", Options{}, nil, nil); err == nil ||
				!strings.Contains(err.Error(), "was changed since, it is now 7") {
				t.Errorf("undo of a value changed since: %v", err)
			}
			// Without the privilege nothing is sent.
			s.Exec(t, "CREATE USER poor@localhost")
			poor := open(t, s, "poor")
			a := set("long_query_time", "5")
			if p, err := PreviewChange(t.Context(), poor, finding.Finding{Action: &a}, Options{}); err != nil ||
				!strings.Contains(strings.Join(p.Blockers, " "), "GRANT SUPER ON *.*") {
				t.Errorf("without a privilege: %v %v", p.Blockers, err)
			}
		})
	}
}

// TestKernelSettingIsTakenBack sets a setting below a folder that stands for /proc, with a real server that runs on
// this machine.
func TestKernelSettingIsTakenBack(t *testing.T) {
	s := servers.Start(t, "mariadb")
	x := open(t, s, "root")
	root := t.TempDir()
	path := filepath.Join(root, "proc", "sys", "vm", "swappiness")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("60\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := Options{Host: host.FS{Root: root}}
	a := finding.Action{Kind: finding.SetKernel, Variable: "vm.swappiness", Value: "1"}
	p, err := PreviewChange(t.Context(), x, finding.Finding{Action: &a}, o)
	if err != nil || !p.OK() || p.Action.SQL != "sysctl -w vm.swappiness=1" ||
		p.Action.Undo != "sysctl -w vm.swappiness=60" {
		t.Fatalf("%v %+v", err, p)
	}
	j := newJournal(t)
	if _, err := Apply(t.Context(), x, j, journal.Entry{ID: "k", Action: a}, o, nil, nil); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "1\n" {
		t.Errorf("the kernel has %q", b)
	}
	if _, err := Undo(t.Context(), x, j, "k", o, nil, nil); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "60\n" {
		t.Errorf("the kernel has %q", b)
	}
	for _, name := range []string{"kernel.core_pattern", "kernel/uevent_helper", "net.ipv4.ip_forward"} {
		a.Variable = name
		if p, err := PreviewChange(t.Context(), x, finding.Finding{Action: &a}, o); err != nil || p.OK() ||
			!strings.Contains(p.Blockers[0], "not one of the settings") {
			t.Errorf("%s may be set: %v %+v", name, err, p)
		}
	}
	a.Variable = "vm.nothing"
	if p, err := PreviewChange(t.Context(), x, finding.Finding{Action: &a}, o); err != nil || p.OK() {
		t.Errorf("a setting that is not there: %v %+v", err, p)
	}
}

func TestCarried(t *testing.T) {
	f := func(definition, old, want string) {
		t.Helper()
		got, why := carried(definition, old)
		if got+why != want {
			t.Errorf("%s over %s: %q %q, want %q", definition, old, got, why, want)
		}
	}
	f("bigint NOT NULL", "int(11) NOT NULL", "bigint NOT NULL")
	f("bigint NOT NULL", "int(11) NOT NULL AUTO_INCREMENT", "bigint NOT NULL AUTO_INCREMENT")
	f("varchar(9) NOT NULL", "varchar(5) NOT NULL DEFAULT 'it''s (a) test' COMMENT 'it''s'",
		"varchar(9) NOT NULL DEFAULT 'it''s (a) test' COMMENT 'it''s'")
	f("varchar(9) NOT NULL", "varchar(5) DEFAULT NULL", "varchar(9) NOT NULL")
	f("varchar(9)", "varchar(5) DEFAULT NULL COMMENT 'c'", "varchar(9) DEFAULT NULL COMMENT 'c'")
	f("int NOT NULL DEFAULT 7", "int(11) NOT NULL DEFAULT 3", "int NOT NULL DEFAULT 7")
	f("timestamp(3) NOT NULL", "timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp()",
		"timestamp(3) NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp()")
	f("varchar(9)", "varchar(5) COMMENT 'no DEFAULT 7, COMMENT ''a'' AUTO_INCREMENT AS (x) ON UPDATE now'",
		"varchar(9) COMMENT 'no DEFAULT 7, COMMENT ''a'' AUTO_INCREMENT AS (x) ON UPDATE now'")
	f("varchar(9) COMMENT 'a DEFAULT b'", "varchar(5) DEFAULT 'c d'", "varchar(9) COMMENT 'a DEFAULT b' DEFAULT 'c d'")
	f("bigint", "int(11) DEFAULT NULL CHECK (`a` > 0)", "biginthas attributes that a change of its type would lose "+
		"(CHECK)")
	f("bigint", "int DEFAULT 1 /*!80023 INVISIBLE */", "biginthas attributes that a change of its type would lose "+
		"(INVISIBLE)")
	f("int", "int DEFAULT (1 + 2)", "inthas an expression as its default")
	f("int", "int GENERATED ALWAYS AS (`a` + 1) VIRTUAL", "intis generated from others")
}

// TestMade has what an action that was interrupted is told by, and what is somebody else's work.
func TestMade(t *testing.T) {
	const was = "CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `a` int DEFAULT NULL,\n  PRIMARY KEY (`id`),\n  KEY `k` " +
		"(`a`),\n  KEY `by k` (`id`)\n) ENGINE=InnoDB AUTO_INCREMENT=7"
	f := func(now string, want bool, changes ...schema.Clause) {
		t.Helper()
		before := parseLines(strings.Join(parseDefinition(was).lines, "\n")) // as the journal keeps it
		if got := made(changes, before, parseDefinition(now)); got != want {
			t.Errorf("%+v is made: %v, in\n%s", changes, got, now)
		}
	}
	with := func(old, new string) string { return strings.Replace(was, old, new, 1) }
	key := func(kind schema.ClauseKind, name string) schema.Clause {
		return schema.Clause{Kind: kind, Index: schema.Index{Name: name}}
	}
	bigger := schema.Clause{Kind: schema.ModifyColumn, Column: "A", Definition: "bigint"}
	f(was, false, bigger)
	f(with("`a` int", "`a` bigint"), true, bigger)
	f(with("`id` int", "`id` bigint"), false, bigger)
	f(with("`a` int", "`a` bigint"), false, bigger, key(schema.DropKey, "k"))
	f(with("  KEY `k` (`a`),\n", ""), true, key(schema.DropKey, "K"))
	f(with("  KEY `k` (`a`),\n", ""), false, key(schema.DropKey, "by k"))
	f(with("KEY `k` (`a`)", "KEY `k` (`a`,`id`)"), true, key(schema.DropKey, "k"), key(schema.AddKey, "k"))
	f(with("  KEY `k`", "  UNIQUE KEY `n` (`a`),\n  KEY `k`"), true, key(schema.AddKey, "n"))
	f(with("PRIMARY KEY (`id`)", "PRIMARY KEY (`a`)"), true, schema.Clause{Kind: schema.PrimaryKey})
	f(with("`a` int", "`a` bigint"), false, schema.Clause{Kind: schema.PrimaryKey})
	f(with("InnoDB", "InnoDB ROW_FORMAT=COMPACT"), true, schema.Clause{
		Kind:   schema.TableOption,
		Option: "ROW_FORMAT", Value: "COMPACT",
	})
	f(with("=7", "=9"), false, schema.Clause{Kind: schema.TableOption, Option: "ROW_FORMAT", Value: "COMPACT"})
}

// TestWhatTheServerMadeElseIsTakenBack asks for an index whose prefix is as long as its column, which servers drop, and
// for more digits than they keep. Both are taken back, also when Dyno was interrupted before it saw the answer.
func TestWhatTheServerMadeElseIsTakenBack(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor)
			j := newJournal(t)
			f := func(id string, a finding.Action, now string, is func() bool) {
				t.Helper()
				undo := func(id string) {
					t.Helper()
					e, err := Undo(t.Context(), x, j, id, Options{}, nil, nil)
					if err != nil || e.State != journal.Undone || is() {
						t.Errorf("undo of %s: %v, %s", id, err, e.State)
					}
				}
				var running journal.Entry
				j.before = func(e journal.Entry) error {
					if e.State == journal.Running {
						running = e
					}
					return nil
				}
				e, err := Apply(t.Context(), x, j, journal.Entry{ID: id, Action: a}, Options{}, nil, nil)
				if err != nil || e.State != journal.Done || !is() {
					t.Errorf("%s: %v %+v", id, err, e)
					return
				}
				if n := fmt.Sprint(e.Notes); !strings.Contains(n, "the server set "+now) {
					t.Errorf("%s: notes %s", id, n)
				}
				undo(id)
				j.before = nil

				s.Exec(t, running.Action.SQL)
				running.ID = id + "-cut"
				if err := j.PutEntry(t.Context(), running); err != nil {
					t.Fatal(err)
				}
				r, err := PreviewUndo(t.Context(), x, newJournal(t), running, Options{})
				if err != nil || !r.OK() || r.Entry.State != journal.Done ||
					!strings.Contains(fmt.Sprint(r.Entry.Notes), "neither as before nor as requested") {
					t.Errorf("%s, interrupted: %v %+v", id, err, r)
				}
				undo(running.ID)
			}
			f("index", action("whole", schema.IndexPart{Column: "s", Prefix: 100}, col("id")), "(`s`, `id`)",
				func() bool { return slices.Contains(indexes(t, s), "whole") })
			was := variable(t, s, "long_query_time")
			f("value", finding.Action{Kind: finding.SetVariable, Variable: "long_query_time", Value: "3.1234567"},
				"3.12345", func() bool { return variable(t, s, "long_query_time") != was })
		})
	}
}
