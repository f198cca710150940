package apply

import (
	"database/sql"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/test/servers"
)

// planned returns what stands against an action and what is worth knowing, one a line.
func planned(t *testing.T, x *target.Target, a finding.Action) (blockers, warnings string) {
	t.Helper()
	p, err := PreviewChange(t.Context(), x, finding.Finding{Action: &a}, Options{})
	if err != nil {
		t.Fatalf("%s: %v", a.Kind, err)
	}
	return strings.Join(p.Blockers, "\n"), strings.Join(p.Warnings, "\n")
}

// TestBackupsAreSeen holds the lock of a backup in another session.
func TestBackupsAreSeen(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor, "performance_schema=ON",
				"performance_schema_instrument=wait/lock/metadata/sql/mdl=ON")
			if b, w := planned(t, x, adds); b != "" || strings.Contains(w, "backup") {
				t.Fatalf("without a backup: %q, %q", b, w)
			}
			e, err := Apply(t.Context(), x, newJournal(t), journal.Entry{ID: "a-1", Action: action("before", col("s"),
				col("a"))}, Options{}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := s.DB(t, "").Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			exec := func(statements ...string) {
				t.Helper()
				for _, q := range statements {
					if _, err := conn.ExecContext(t.Context(), q); err != nil {
						t.Fatal(err)
					}
				}
			}
			var id uint64
			if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
				t.Fatal(err)
			}
			begin, end := []string{"LOCK INSTANCE FOR BACKUP"}, "UNLOCK INSTANCE"
			if flavor == "mariadb" {
				begin, end = []string{
					"BACKUP STAGE START", "BACKUP STAGE FLUSH", "BACKUP STAGE BLOCK_DDL",
					"BACKUP STAGE BLOCK_COMMIT",
				}, "BACKUP STAGE END"
			}
			alters := s.Status(t, "Com_alter_table")
			want := fmt.Sprintf("a backup is running: thread %d (root@localhost) holds the lock", id)
			for _, q := range begin {
				exec(q)
				if b, _ := planned(t, x, adds); !strings.Contains(b, want) {
					t.Errorf("%s: %q", q, b)
				}
			}
			if _, err := Apply(t.Context(), x, newJournal(t), journal.Entry{ID: "a-2", Action: adds}, Options{}, nil,
				nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a change during a backup: %v", err)
			}
			if r, err := PreviewUndo(t.Context(), x, newJournal(t), e, Options{}); err != nil ||
				!strings.Contains(strings.Join(r.Blockers, "\n"), want) {
				t.Errorf("an undo during a backup: %+v, %v", r.Blockers, err)
			}
			exec(end)
			if n := s.Status(t, "Com_alter_table") - alters; n != 0 {
				t.Errorf("%d ALTER TABLE during a backup", n)
			}
			if b, _ := planned(t, x, adds); b != "" {
				t.Errorf("after the backup: %q", b)
			}

			// A program's name alone is what anyone can claim.
			claim := func(user string) (thread string) {
				c := mysql.NewConfig()
				c.User, c.Net, c.Addr, c.ConnectionAttributes = user, "unix", s.Socket, "program_name:xtrabackup"
				k, err := mysql.NewConnector(c)
				if err != nil {
					t.Fatal(err)
				}
				db := sql.OpenDB(k)
				t.Cleanup(func() { db.Close() })
				if err := db.QueryRow("SELECT CONNECTION_ID()").Scan(&id); err != nil {
					t.Fatal(err)
				}
				return fmt.Sprintf("thread %d (%s@localhost)", id, user)
			}
			s.Exec(t, "CREATE USER tenant@localhost", "CREATE USER saver@localhost",
				"GRANT RELOAD ON *.* TO saver@localhost")
			who := claim("tenant")
			if b, w := planned(t, x, adds); b != "" || !strings.Contains(w, who+" says that it is of xtrabackup") {
				t.Errorf("a tenant that claims to be a backup: %q, %q", b, w)
			}
			who = claim("saver")
			if b, _ := planned(t, x, adds); !strings.Contains(b, "a backup is running: "+who+" is of xtrabackup") {
				t.Errorf("a backup without locks: %q", b)
			}
		})
	}
}

// TestGroupOfPrimaries makes a group of one that takes changes on all its members, and then on one.
func TestGroupOfPrimaries(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	s, _ := start(t, "mysql", "gtid_mode=ON", "enforce_gtid_consistency=ON", "server_id=7")
	s.Exec(t, "INSTALL PLUGIN group_replication SONAME 'group_replication.so'")
	x := open(t, s, "root")
	if b, _ := planned(t, x, adds); b != "" {
		t.Fatalf("a plugin without a group: %q", b)
	}
	s.Exec(t, "SET GLOBAL group_replication_group_name='aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa'",
		"SET GLOBAL group_replication_local_address='"+addr+"'",
		"SET GLOBAL group_replication_group_seeds='"+addr+"'", "SET GLOBAL group_replication_bootstrap_group=ON",
		"SET GLOBAL group_replication_enforce_update_everywhere_checks=OFF",
		"SET GLOBAL group_replication_single_primary_mode=OFF")
	x = open(t, s, "root")
	if b, _ := planned(t, x, adds); b != "" {
		t.Fatalf("a group that was not started: %q", b)
	}
	s.Exec(t, "START GROUP_REPLICATION")
	defer s.Exec(t, "STOP GROUP_REPLICATION")
	online := func() bool {
		var n int
		if err := s.DB(t, "").QueryRow("SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE " +
			"MEMBER_STATE = 'ONLINE' AND MEMBER_ROLE = 'PRIMARY'" +
			" AND NOT @@global.super_read_only").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n == 1
	}
	eventually(t, "the member is online", online)
	x = open(t, s, "root")
	if b, _ := planned(t, x, adds); !strings.Contains(b, "several primaries") {
		t.Errorf("a group of primaries: %q", b)
	}
	s.Exec(t, "SELECT group_replication_switch_to_single_primary_mode()")
	eventually(t, "the member is the only primary", online)
	if b, _ := planned(t, open(t, s, "root"), adds); b != "" {
		t.Errorf("a group with one primary: %q", b)
	}
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestMultiPrimary(t *testing.T) {
	f := func(state, single string, primaries int, want bool) {
		t.Helper()
		if got := multiPrimary(state, single, primaries); got != want {
			t.Errorf("%s, %s, %d primaries: %v", state, single, primaries, got)
		}
	}
	f("ONLINE", "1", 1, false)
	f("ONLINE", "ON", 1, false)
	f("ONLINE", "0", 3, true)
	f("ONLINE", "OFF", 1, true) // the others are not seen
	f("RECOVERING", "0", 1, true)
	f("ERROR", "0", 1, true) // it may come back during the change
	f("OFFLINE", "0", 0, false)
	f("", "0", 0, false)
	f("ONLINE", "1", 2, true) // while the mode changes
}

// TestErrantTransaction makes a writable replica, with GTIDs and without.
func TestErrantTransaction(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			settings := map[string][]string{
				"mariadb": {"log_bin=b", "server_id=7", "gtid_domain_id=3"},
				"mysql":   {"gtid_mode=ON", "enforce_gtid_consistency=ON", "server_id=7"},
			}[flavor]
			s, x := start(t, flavor, settings...)
			if _, w := planned(t, x, adds); strings.Contains(w, "errant") {
				t.Errorf("no replica: %q", w)
			}
			s.Exec(t, map[string]string{
				"mariadb": "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='u'",
				"mysql":   "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=1, SOURCE_USER='u'",
			}[flavor])
			x = open(t, s, "root")
			gtid := map[string]string{"mariadb": "3-7-n", "mysql": x.Facts().UUID + ":n"}[flavor]
			if b, w := planned(t, x, adds); b != "" || !strings.Contains(w, "errant transaction with GTID "+gtid) {
				t.Errorf("a writable replica: %q, %q", b, w)
			}
		})
	}
}

// TestVariablesThatLast: what a restart makes of a variable, and which sessions have it.
func TestVariablesThatLast(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			x := open(t, s, "root")
			f := func(name, value, want, not string) {
				t.Helper()
				b, w := planned(t, x, finding.Action{Kind: finding.SetVariable, Variable: name, Value: value})
				if b != "" || !strings.Contains(w, want) || not != "" && strings.Contains(w, not) {
					t.Errorf("%s=%s: %q, %q", name, value, b, w)
				}
			}
			f("sort_buffer_size", "524288", "open sessions keep their value: sort_buffer_size", "")
			f("max_connections", "77", "put max_connections=77 into my.cnf", "open sessions")
			f("innodb_io_capacity", "300", "a restart resets it", "open sessions")
			if flavor == "mariadb" {
				return
			}
			s.Exec(t, "SET PERSIST max_connections = 99", "SET GLOBAL max_connections = 88")
			f("max_connections", "77", "a restart sets it to 99 again", "a restart resets it")
			f("max_connections", "77", "To keep the new value: SET PERSIST max_connections = 77; or RESET PERSIST "+
				"max_connections", "")
			f("max_connections", "99", "a restart keeps it", "my.cnf")
			s.Exec(t, "RESET PERSIST max_connections")
			f("max_connections", "77", "a restart resets it", "mysqld-auto.cnf")
		})
	}
}

// TestUndoLooksAtLaterActions: an index is not dropped while another one is gone because of it.
func TestUndoLooksAtLaterActions(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor)
			j := newJournal(t)
			index := func(name string, cols ...string) schema.Index {
				y := schema.Index{Name: name, Type: "BTREE"}
				for _, c := range cols {
					y.Parts = append(y.Parts, col(c))
				}
				return y
			}
			apply := func(id string, kind finding.ActionKind, y schema.Index) {
				t.Helper()
				if _, err := Apply(t.Context(), x, j, journal.Entry{ID: id, Action: finding.Action{
					Kind:  kind,
					Table: table, Index: y,
				}}, Options{}, nil, nil); err != nil {
					t.Fatal(err)
				}
			}
			undo := func(id, want string) {
				t.Helper()
				_, err := Undo(t.Context(), x, j, id, Options{}, nil, nil)
				if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("undo %s: %v, want %q", id, err, want)
				}
			}
			// Dropped because of the new one.
			apply("a-1", finding.AddIndex, index("sa", "s", "a"))
			apply("a-2", finding.DropIndex, index("k_s", "s"))
			undo("a-1", "action a-2 removed index k_s (`s`), which sa serves for: undo that first: dyno undo a-2")
			if got := fmt.Sprint(indexes(t, s)); got != "[PRIMARY kas sa]" {
				t.Fatalf("indexes %s", got)
			}
			// A third one serves as well.
			s.Exec(t, "ALTER TABLE "+quoted+" ADD INDEX third (s, id)")
			undo("a-1", "")
			s.Exec(t, "ALTER TABLE "+quoted+" DROP INDEX third")
			undo("a-2", "")

			// In the order that is asked for, also when it is only hidden, by its name alone.
			apply("a-3", finding.AddIndex, index("sa", "s", "a"))
			apply("a-4", finding.HideIndex, schema.Index{Name: "K_S"})
			undo("a-3", "action a-4 removed index k_s (`s`)")
			undo("a-4", "")
			undo("a-3", "")

			// Dropped before: the new one did not replace it.
			apply("a-5", finding.DropIndex, index("k_s", "s"))
			apply("a-6", finding.AddIndex, index("sa", "s", "a"))
			undo("a-6", "")
			undo("a-5", "")

			// A foreign key that came since, and statements that use the index.
			s.Exec(t, "USE `my``shop`", "CREATE TABLE parent (id INT PRIMARY KEY)",
				"INSERT INTO parent SELECT DISTINCT a FROM "+quoted)
			apply("a-7", finding.AddIndex, index("aid", "a", "id"))
			s.Exec(t, "ALTER TABLE "+quoted+" DROP INDEX kas, ADD CONSTRAINT fk FOREIGN KEY (a) REFERENCES "+
				"`my``shop`.parent (id)")
			s.Exec(t, "DO (SELECT COUNT(*) FROM "+quoted+" FORCE INDEX (aid) WHERE a > 0)")
			e, err := j.Entry(t.Context(), "a-7")
			if err != nil {
				t.Fatal(err)
			}
			r, err := PreviewUndo(t.Context(), x, j, e, Options{})
			if err != nil || !strings.Contains(fmt.Sprint(r.Blockers), "the foreign key fk needs the index aid") ||
				strings.Contains(fmt.Sprint(r.Warnings), "statements use the index aid: ") != x.Has(
					target.HasPerformanceSchema) {
				t.Errorf("an index that is needed: %v %+v", err, r)
			}
			s.Exec(t, "ALTER TABLE "+quoted+" ADD INDEX kas (a, s)")
			undo("a-7", "")
		})
	}
}

// TestTheServerThatWasAskedIsChanged has another server answer the logins after the preflight, and after the change of
// the first.
func TestTheServerThatWasAskedIsChanged(t *testing.T) {
	s, _ := start(t, "mariadb")
	o, _ := start(t, "mariadb")
	b := servers.Balance(t, s)
	spec, err := endpoint.ParseURL(b.URL("root"))
	if err != nil {
		t.Fatal(err)
	}
	alters := func() string { return fmt.Sprint(s.Status(t, "Com_alter_table"), o.Status(t, "Com_alter_table")) }
	f := func(id string, at journal.State, want string) {
		t.Helper()
		b.Turn(s)
		x, err := target.Open(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		j, before := newJournal(t), alters()
		j.before = func(e journal.Entry) error {
			if e.State == at {
				b.Turn(o)
			}
			return nil
		}
		e, err := Apply(t.Context(), x, j, journal.Entry{ID: id, Action: adds}, Options{}, nil, nil)
		if target.KindOf(err) != endpoint.Elsewhere || e.State != journal.Failed ||
			!strings.Contains(err.Error(), s.Dir) || !strings.Contains(err.Error(), o.Dir) ||
			!strings.Contains(target.HintOf(err), want) {
			t.Errorf("%s: %v, %s, %s", at, err, e.State, target.HintOf(err))
		}
		if now := alters(); now != before || len(indexes(t, s))+len(indexes(t, o)) != 6 {
			t.Errorf("%s: ALTER TABLE were %s, are %s", at, before, now)
		}
	}
	f("a-1", journal.Planned, "not through a balancer")
	f("a-2", journal.Running, "not through a balancer")
}
