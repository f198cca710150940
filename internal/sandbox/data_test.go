package sandbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// prepared returns a yard whose data set "k" a server of the flavor made, with the checksum of its table s.t, and the
// sandbox "prep" that made it, stopped.
func prepared(t *testing.T, flavor string, rows int, settings map[string]string) (y *Yard, sum string) {
	t.Helper()
	y = yard(t)
	s := up(t, y, Config{Name: "prep", Server: flavor, Settings: settings})
	db := open(t, s)
	db.SetMaxOpenConns(1)
	run(t, db, "CREATE DATABASE s", "USE s", "CREATE DATABASE bare", "CREATE USER app@'%' IDENTIFIED BY 'secret'",
		"CREATE TABLE s.t (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL, c CHAR(120) NOT NULL, KEY (k)) "+
			"ENGINE=InnoDB",
		"INSERT INTO s.t (k, c) VALUES (1, REPEAT('a', 120))")
	for n := 1; n < rows; n *= 2 {
		run(t, db, "INSERT INTO s.t (k, c) SELECT k + 1, SHA2(id, 224) FROM s.t")
	}
	run(t, db, "DELETE FROM s.t WHERE id % 10 = 3") // something to purge
	sum = checksum(t, db, "s.t")
	db.Close()
	if err := y.SaveData(context.Background(), "prep", "k", map[string]string{"tables": "one"}, nil); err != nil {
		t.Fatal(err)
	}
	return y, sum
}

func run(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func checksum(t *testing.T, db *sql.DB, table string) string {
	t.Helper()
	var name, sum string
	if err := db.QueryRow("CHECKSUM TABLE "+table).Scan(&name, &sum); err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestDataSet(t *testing.T) {
	ctx := context.Background()
	for _, flavor := range flavors {
		t.Run(flavor, func(t *testing.T) {
			y, sum := prepared(t, flavor, 4096, nil)
			prep := find(t, y, "prep")
			if prep.State != Stopped || prep.Data != "k" {
				t.Errorf("after saving: %+v", prep)
			}
			d, ok := y.HasData("k")
			if !ok || d.About["tables"] != "one" || string(d.Flavor) != flavor || d.Version != prep.Server.Version ||
				d.Size == 0 || d.Bytes == 0 || d.Files == 0 {
				t.Fatalf("%v %+v", ok, d)
			}
			if _, ok := y.HasData("other"); ok {
				t.Error("there is a data set nobody made")
			}
			for _, name := range []string{"auto.cnf", "ibtmp1", "binlog.index", "binlog.000001"} {
				if there(filepath.Join(dataDir(y.Home, "k"), "data", name)) {
					t.Errorf("%s is kept", name)
				}
			}
			a, b := up(t, y, Config{Name: "a", Data: "k"}), up(t, y, Config{Name: "b", Data: "k", Server: flavor})
			if err := y.Remove(ctx, "prep"); err != nil {
				t.Fatal(err)
			}
			x, z := open(t, a), open(t, b)
			if got := checksum(t, x, "s.t"); got != sum || checksum(t, z, "s.t") != sum {
				t.Errorf("checksums %s, %s, want %s", got, checksum(t, z, "s.t"), sum)
			}
			if got := value(t, x, "SELECT COUNT(*) FROM mysql.user WHERE user = 'app'"); got != "1" {
				t.Error("the account is gone")
			}
			if got := value(t, x, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'bare'"); got !=
				"1" {
				t.Error("the database without tables is gone")
			}
			if flavor == "mysql" && value(t, x, "SELECT @@server_uuid") == value(t, z, "SELECT @@server_uuid") {
				t.Error("two servers with one UUID")
			}
			if b, err := os.ReadFile(filepath.Join(a.Dir, "log", "error.log")); err != nil ||
				strings.Contains(string(b), "[ERROR]") || strings.Contains(string(b), "recovery") {
				t.Errorf("the server did not start on a whole data directory: %v\n%s", err, b)
			}

			// In use, it stays.
			if err := y.RemoveData(ctx, "k"); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "a, b") {
				t.Errorf("remove what is in use: %v", err)
			}
			all, err := y.DataSets(ctx)
			if err != nil || len(all) != 1 || fmt.Sprint(all[0].Users) != "[a b]" || all[0].Problem != "" {
				t.Errorf("%+v %v", all, err)
			}
			if gone, err := y.PruneData(ctx, 0); err != nil || len(gone) != 0 {
				t.Errorf("pruned %v %v", gone, err)
			}
			if err := inline([]error{y.Remove(ctx, "a"), y.Remove(ctx, "b"), y.RemoveData(ctx, "k")}); err != nil {
				t.Fatal(err)
			}
			if _, err := y.Up(ctx, Config{Name: "c", Data: "k"}, nil); !errors.Is(err, ErrNoData) {
				t.Errorf("up of a data set that is gone: %v", err)
			}
			if _, err := y.Find(ctx, "c"); !errors.Is(err, ErrNotFound) {
				t.Errorf("it left a sandbox: %v", err)
			}
		})
	}
}

// What is saved starts with other redo and other binary logs than it was made with, and keeps none of its own.
func TestDataSetOtherLogs(t *testing.T) {
	const with, without, large, small = "with", "without", "209715200", "67108864"
	redo := map[string]string{"mariadb": "innodb_log_file_size", "mysql": "innodb_redo_log_capacity"}
	for _, flavor := range flavors {
		f := func(madeLog, madeRedo, usedLog, usedRedo string) {
			t.Helper()
			t.Run(flavor+" "+madeLog+" "+usedLog, func(t *testing.T) {
				settings := func(log, size string) map[string]string {
					if log == with {
						return map[string]string{"log_bin": "changes", "server_id": "7", redo[flavor]: size}
					}
					return map[string]string{"skip_log_bin": "1", redo[flavor]: size}
				}
				y, sum := prepared(t, flavor, 1024, settings(madeLog, madeRedo))
				if kept, _ := filepath.Glob(filepath.Join(dataDir(y.Home, "k"), "data", "changes.*")); len(kept) > 0 {
					t.Errorf("kept %q", kept)
				}
				db := open(t, up(t, y, Config{Name: "a", Data: "k", Settings: settings(usedLog, usedRedo)}))
				if got := checksum(t, db, "s.t"); got != sum {
					t.Errorf("checksum %s, want %s", got, sum)
				}
				if got := value(t, db, "SELECT @@"+redo[flavor]); got != usedRedo {
					t.Errorf("the redo log has %s, not %s", got, usedRedo)
				}
				if got := value(t, db, "SELECT @@log_bin"); got != map[string]string{with: "1", without: "0"}[usedLog] {
					t.Errorf("log_bin is %s", got)
				}
				if usedLog == with {
					var file string
					if err := db.QueryRow("SHOW BINARY LOGS").Scan(&file, new(any)); err != nil &&
						!strings.Contains(err.Error(), "destination") || file != "" && file != "changes.000001" {
						t.Errorf("binary log %q: %v", file, err)
					}
				}
			})
		}
		f(with, small, without, large)
		f(without, large, with, small)
	}
}

func TestRestoreData(t *testing.T) {
	ctx := context.Background()
	for _, flavor := range flavors {
		t.Run(flavor, func(t *testing.T) {
			y, sum := prepared(t, flavor, 1<<16, nil)
			s := up(t, y, Config{Name: "a", Data: "k"})
			for round, how := range []func(context.Context, string) error{y.Down, y.Kill, y.Kill} {
				db := open(t, s)
				if got := checksum(t, db, "s.t"); got != sum {
					t.Fatalf("round %d: checksum %s, want %s", round, got, sum)
				}
				run(t, db, "UPDATE s.t SET k = k + 1 WHERE id % 7 = 0", "CREATE TABLE s.more LIKE s.t",
					"CREATE DATABASE extra", "CREATE TABLE extra.x (a INT)", "DROP DATABASE bare")
				if round == 1 {
					run(t, db, "DROP TABLE s.t")
				}
				ended := make(chan struct{})
				go func() { // a load that is killed in the middle
					defer close(ended)
					for i := 0; ; i++ {
						if _, err := db.Exec(fmt.Sprintf("INSERT INTO s.more (k, c) VALUES (%d, 'x')", i)); err != nil {
							return
						}
					}
				}()
				time.Sleep(100 * time.Millisecond)
				if _, err := y.RestoreData(ctx, "a", nil); !errors.Is(err, ErrRunning) {
					t.Fatalf("restore of a running one: %v", err)
				}
				if err := how(ctx, "a"); err != nil {
					t.Fatal(err)
				}
				<-ended
				r, err := y.RestoreData(ctx, "a", nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%+v", r)
				if r.Written == 0 && r.Shared == 0 || r.Removed == 0 || r.Changed == 0 || r.Files == 0 {
					t.Errorf("restored %+v", r)
				}
				sameTree(t, filepath.Join(dataDir(y.Home, "k"), "data"), filepath.Join(sandboxDir(y.Home, "a"), "data"))
				if _, err := y.FlushData(ctx, "a"); err != nil {
					t.Error(err)
				}
				s = up(t, y, Config{Name: "a"})
			}
			if got := checksum(t, open(t, s), "s.t"); got != sum {
				t.Fatalf("at last: checksum %s, want %s", got, sum)
			}
		})
	}
}
