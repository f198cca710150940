package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// A restore that is killed half-way is done in full before the server runs again, by RestoreData or by Up.
func TestRestoreKilled(t *testing.T) {
	ctx := context.Background()
	for _, flavor := range flavors {
		t.Run(flavor, func(t *testing.T) {
			y, sum := prepared(t, flavor, 1<<16, nil)
			up(t, y, Config{Name: "a", Data: "k"})
			data, caught := filepath.Join(sandboxDir(y.Home, "a"), "data"), 0
			for i := range 4 {
				if err := y.Kill(ctx, "a"); err != nil {
					t.Fatal(err)
				}
				entries, err := os.ReadDir(data)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries { // so that there is much to do
					if err := os.RemoveAll(filepath.Join(data, e.Name())); err != nil {
						t.Fatal(err)
					}
				}
				c, out := helper(t, helperJob{
					Home: y.Home, ServerDirs: y.ServerDirs,
					Config: Config{Name: "a"}, Restore: true,
				}, 0)
				for end := time.Now().Add(30 * time.Second); ; {
					if r, _, err := readRecord(sandboxDir(y.Home, "a")); err != nil {
						t.Fatal(err)
					} else if r.Restoring {
						break
					}
					if time.Now().After(end) {
						t.Fatal("it does not begin")
					}
				}
				time.Sleep(time.Duration(i) * 10 * time.Millisecond) // a different half each time
				c.Process.Kill()
				c.Wait()
				_, _ = out.ReadString('\n')
				r, _, err := readRecord(sandboxDir(y.Home, "a"))
				if err != nil {
					t.Fatal(err)
				}
				if r.Restoring {
					caught++
				}
				if i%2 == 0 {
					if _, err := y.RestoreData(ctx, "a", nil); err != nil {
						t.Fatal(err)
					}
					sameTree(t, filepath.Join(dataDir(y.Home, "k"), "data"), data)
				}
				if got := checksum(t, open(t, up(t, y, Config{Name: "a"})), "s.t"); got != sum {
					t.Fatalf("checksum %s, want %s", got, sum)
				}
			}
			if caught == 0 {
				t.Error("no restore was killed half-way")
			}
			t.Logf("%d of 4 killed half-way", caught)

			// Without its data set, what is half restored never runs.
			if err := y.Kill(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			r, _, err := readRecord(sandboxDir(y.Home, "a"))
			r.Restoring = true
			if err := inline([]error{
				err, r.save(sandboxDir(y.Home, "a")),
				os.Remove(filepath.Join(dataDir(y.Home, "k"), dataListName)),
			}); err != nil {
				t.Fatal(err)
			}
			if _, err := y.Up(ctx, Config{Name: "a"}, nil); !errors.Is(err, ErrData) {
				t.Errorf("up of what is half restored: %v", err)
			}
			if s := find(t, y, "a"); s.PID != 0 {
				t.Errorf("it runs: %+v", s)
			}
		})
	}
}

// What does not fit is refused, with what to do, and the sandbox stays as it is.
func TestDataRefused(t *testing.T) {
	ctx := context.Background()
	y, sum := prepared(t, "mariadb", 1024, map[string]string{"innodb-page-size": "32K"})
	refused := func(err, cause error, says ...string) {
		t.Helper()
		if !errors.Is(err, cause) {
			t.Fatalf("%v, want %v", err, cause)
		}
		if _, ok := errors.AsType[*Error](err); !ok || target.HintOf(err) == "" {
			t.Errorf("%v: no hint", err)
		}
		for _, s := range says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%v does not say %q", err, s)
			}
		}
	}
	tryUp := func(c Config) error {
		t.Helper()
		_, err := y.Up(ctx, c, nil)
		if _, found := y.Find(ctx, c.Name); c.Name != "a" && !errors.Is(found, ErrNotFound) {
			t.Errorf("%+v leaves a sandbox behind", c)
		}
		return err
	}
	refused(tryUp(Config{Name: "b", Data: "k"}), ErrData, "innodb_page_size=32768", "no initial settings")
	refused(tryUp(Config{Name: "b", Data: "k", Settings: map[string]string{"innodb_page_size": "16k"}}), ErrData,
		"innodb_page_size=16384")
	refused(tryUp(Config{Name: "b", Data: "k", Server: "mysql"}), ErrData, "belongs to mariadb@",
		"the server is mysql@")
	refused(tryUp(Config{Name: "b", Data: "none"}), ErrNoData)
	if err := tryUp(Config{Name: "b", Data: "../k"}); !errors.Is(err, ErrBadKey) {
		t.Error(err)
	}
	settings := map[string]string{"innodb_page_size": "32768"}
	a := up(t, y, Config{Name: "a", Data: "k", Settings: settings})
	if got := checksum(t, open(t, a), "s.t"); got != sum {
		t.Errorf("checksum %s, want %s", got, sum)
	}
	if err := y.Down(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	refused(tryUp(Config{Name: "a", Data: "other"}), ErrData)
	up(t, y, Config{Name: "c", Server: "mariadb"})
	if err := y.Down(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	_, err := y.RestoreData(ctx, "c", nil)
	refused(err, ErrNoData)
	_, err = y.RestoreData(ctx, "nobody", nil)
	refused(err, ErrNotFound)
	refused(y.Kill(ctx, "nobody"), ErrNotFound)

	// A process that we do not know of has a file open.
	f, err := os.OpenFile(filepath.Join(sandboxDir(y.Home, "a"), "data", "ibdata1"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	_, err = y.RestoreData(short, "a", nil)
	cancel()
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("restore of files in use: %v", err)
	}
	if err := quiet(ctx, filepath.Join(sandboxDir(y.Home, "a"), "data"), 0); !errors.Is(err, ErrRunning) {
		t.Errorf("files in use: %v", err)
	}
	f.Close()

	// The list does not fit the files.
	spoil := filepath.Join(dataDir(y.Home, "k"), "data", "s", "t.ibd")
	fi, err := os.Stat(spoil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(spoil, fi.Size()-1); err != nil {
		t.Fatal(err)
	}
	if _, ok := y.HasData("k"); ok {
		t.Error("a data set with a file cut counts as whole")
	}
	_, err = y.RestoreData(ctx, "a", nil)
	refused(err, ErrData, "s/t.ibd", "bytes")
	refused(tryUp(Config{Name: "b", Data: "k", Settings: settings}), ErrData, "s/t.ibd")
	all, err := y.DataSets(ctx)
	if err != nil || len(all) != 1 || all[0].Problem == "" || all[0].Key != "k" {
		t.Errorf("%+v %v", all, err)
	}
	if got := checksum(t, open(t, up(t, y, Config{Name: "a"})), "s.t"); got != sum { // refused, not begun
		t.Errorf("checksum %s, want %s", got, sum)
	}
	// It is made again under the same key.
	if err := y.SaveData(ctx, "a", "k", nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := y.RestoreData(ctx, "a", nil); err != nil {
		t.Fatal(err)
	}
	if got := checksum(t, open(t, up(t, y, Config{Name: "a"})), "s.t"); got != sum {
		t.Errorf("checksum %s, want %s", got, sum)
	}
}
