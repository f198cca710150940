package sandbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	mysqlsandbox "github.com/dyno-perf/dyno/internal/mysql/sandbox"

	"github.com/dyno-perf/dyno/internal/progress"
)

// kept makes a data set of a few files without a server, last used at the time.
func kept(t *testing.T, y *Yard, key string, size int, used time.Time) {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "data", "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data", "d", "f"), make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	r := record{Server: Server{Flavor: "mariadb", Version: "10.11.1", Maker: mysqlsandbox.Maker{}}}
	if err := keepData(t.Context(), y, dir, r, settings{}, key, nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dataDir(y.Home, key), dataUsedName), used, used); err != nil {
		t.Fatal(err)
	}
}

func plainYard(t *testing.T) *Yard {
	t.Helper()
	y, err := Open(filepath.Join(t.TempDir(), "home"), makers...)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

func TestPruneData(t *testing.T) {
	ctx := context.Background()
	y := plainYard(t)
	if gone, err := y.PruneData(ctx, 0); err != nil || len(gone) != 0 {
		t.Fatal(gone, err)
	}
	now := time.Now()
	const size = 1 << 20
	kept(t, y, "newest", size, now)
	kept(t, y, "oldest", size, now.Add(-3*time.Hour))
	kept(t, y, "old", size, now.Add(-2*time.Hour))
	kept(t, y, "used", size, now.Add(-4*time.Hour))
	kept(t, y, "copied", size, now.Add(-5*time.Hour))
	if err := makeDirs(sandboxDir(y.Home, "s")); err != nil {
		t.Fatal(err)
	}
	if err := (record{Data: "used"}).save(sandboxDir(y.Home, "s")); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{making + "x", removing + "y"} { // by somebody who was killed
		if err := os.MkdirAll(filepath.Join(dataSetsIn(y.Home), left, "data"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f := func(keep int64, want ...string) {
		t.Helper()
		gone, err := y.PruneData(ctx, keep)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, d := range gone {
			keys = append(keys, d.Key)
		}
		if fmt.Sprint(keys) != fmt.Sprint(want) {
			t.Errorf("keeping %d removes %v, want %v", keep, keys, want)
		}
		for _, k := range want {
			if there(dataDir(y.Home, k)) {
				t.Errorf("%s is there", k)
			}
		}
	}
	err := useData(ctx, y.Home, "copied", func(dataList) error {
		used := filepath.Join(dataDir(y.Home, "copied"), dataUsedName)
		if err := os.Chtimes(used, now, now.Add(-5*time.Hour)); err != nil {
			t.Fatal(err)
		}
		f(100 * size)
		f(4*size+size/2, "oldest")
		f(4*size + size/2)
		if err := y.RemoveData(ctx, "copied"); !errors.Is(err, ErrBusy) {
			t.Errorf("remove what is copied: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if d, ok := y.HasData("copied"); !ok || now.Sub(d.Used) < time.Hour {
		t.Fatalf("%v %+v", ok, d)
	}
	f(3*size+size/2, "copied")
	f(0, "old", "newest")
	if _, ok := y.HasData("used"); !ok {
		t.Error("one in use was removed")
	}
	if left, _ := filepath.Glob(filepath.Join(dataSetsIn(y.Home), ".*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := removeAllData(ctx, y.Home); !errors.Is(err, ErrBusy) {
		t.Errorf("remove all while one is used: %v", err)
	}
	if err := os.RemoveAll(sandboxDir(y.Home, "s")); err != nil {
		t.Fatal(err)
	}
	if err := y.RemoveAll(ctx); err != nil {
		t.Fatal(err)
	}
	if there(dataSetsIn(y.Home)) {
		t.Error("the directory of data sets is left")
	}
	if err := y.RemoveData(ctx, "used"); !errors.Is(err, ErrNoData) {
		t.Error(err)
	}
}

// Of many who save one key at a time, one does; whoever uses it meanwhile sees all of it or nothing.
func TestSaveDataAtOnce(t *testing.T) {
	y := plainYard(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { kept(t, y, "k", 1<<20, time.Now()) })
		wg.Go(func() {
			for range 50 {
				err := useData(t.Context(), y.Home, "k", func(l dataList) error { return l.Tree.check(l.data()) })
				if err != nil && !errors.Is(err, ErrNoData) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if d, ok := y.HasData("k"); !ok || d.Size != 1<<20 || d.Files != 1 {
		t.Fatalf("%v %+v", ok, d)
	}
	if left, _ := filepath.Glob(filepath.Join(dataSetsIn(y.Home), ".*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A server that dies instead of shutting down leaves work to recover, so its data are not kept.
func TestSaveDataDies(t *testing.T) {
	ctx := context.Background()
	for _, flavor := range flavors {
		t.Run(flavor, func(t *testing.T) {
			y := yard(t)
			s := up(t, y, Config{Name: "a", Server: flavor})
			run(t, open(t, s), "CREATE DATABASE s", "CREATE TABLE s.t (id INT PRIMARY KEY)",
				"INSERT INTO s.t VALUES (7)")
			once := false
			err := y.SaveData(ctx, "a", "k", nil, func(p progress.Progress) {
				if !once && strings.HasPrefix(p.Step, "shutting") {
					once = true
					if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
						t.Error(err)
					}
				}
			})
			if !errors.Is(err, ErrData) || !once {
				t.Errorf("saved: %v", err)
			}
			if _, ok := y.HasData("k"); ok {
				t.Error("there is a data set")
			}
			if err := y.SaveData(ctx, "a", "k", nil, nil); err != nil { // it starts the server, to end it in order
				t.Fatal(err)
			}
			if got := value(t, open(t, up(t, y, Config{Name: "b", Data: "k"})), "SELECT id FROM s.t"); got != "7" {
				t.Errorf("the row is %s", got)
			}
		})
	}
}

// Old versions of rows that nobody has purged yet are not left to the trials.
func TestSaveDataPurges(t *testing.T) {
	ctx := context.Background()
	history := map[string]string{
		"mariadb": "SELECT variable_value FROM information_schema.global_status WHERE variable_name = " +
			"'Innodb_history_list_length'",
		"mysql": "SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'",
	}
	for _, flavor := range flavors {
		t.Run(flavor, func(t *testing.T) {
			y := yard(t)
			db := open(t, up(t, y, Config{Name: "a", Server: flavor}))
			run(t, db, "CREATE DATABASE s", "CREATE TABLE s.t (id INT PRIMARY KEY)", "INSERT INTO s.t VALUES (0)")
			c, err := db.Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.ExecContext(ctx, "START TRANSACTION WITH CONSISTENT SNAPSHOT"); err != nil {
				t.Fatal(err)
			}
			for range 300 {
				run(t, db, "UPDATE s.t SET id = id + 1")
			}
			length := func(db *sql.DB) int {
				n, err := strconv.Atoi(value(t, db, history[flavor]))
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			if n := length(db); n < 200 {
				t.Fatalf("a history of %d: nothing to purge", n)
			}
			if err := y.SaveData(ctx, "a", "k", nil, nil); err != nil {
				t.Fatal(err)
			}
			if n := length(open(t, up(t, y, Config{Name: "b", Data: "k"}))); n >= 100 {
				t.Errorf("the copy begins with a history of %d", n)
			}
		})
	}
}

// Tables that lie elsewhere are no part of a copy, so there is none.
func TestSaveDataOutside(t *testing.T) {
	y := plainYard(t)
	f := func(make func(data string) error) {
		t.Helper()
		dir := t.TempDir()
		data := filepath.Join(dir, "data")
		if err := os.Mkdir(data, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := make(data); err != nil {
			t.Fatal(err)
		}
		r := record{Server: Server{Maker: mysqlsandbox.Maker{}}}
		if err := keepData(t.Context(), y, dir, r, settings{}, "k", nil, nil, nil); !errors.Is(err, ErrData) {
			t.Errorf("saved: %v", err)
		}
		if _, ok := y.HasData("k"); ok {
			t.Error("there is a data set")
		}
		if left, _ := filepath.Glob(filepath.Join(dataSetsIn(y.Home), ".*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
	f(func(data string) error { return os.Symlink("/etc", filepath.Join(data, "shop")) })
	f(func(data string) error {
		return os.WriteFile(filepath.Join(data, "t.isl"), []byte("/elsewhere/t.ibd"), 0o600)
	})
}

func TestPlainValue(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := plainValue(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	f("16k", "16384")
	f("16K", "16384")
	f("16384", "16384")
	f("1G", "1073741824")
	f("ON", "on")
	f("1", "on")
	f("FALSE", "off")
	f("ibdata1:12M:autoextend", "ibdata1:12m:autoextend")
	f("", "")
}
