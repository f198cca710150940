package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/internal/known"
	"dyno/internal/store/history"
	"dyno/internal/store/ledger"
	"dyno/internal/store/series"
	"dyno/internal/target"
	"dyno/test/servers"
)

func TestKeepingOf(t *testing.T) {
	const day = 24 * time.Hour
	f := func(k Kept, so series.Options, ho history.Options, days, will known.Value[float64]) {
		t.Helper()
		x := keepingOf([]Kept{k}, so, ho)[0]
		if x.Days != days || x.Will != will {
			t.Errorf("%+v: kept %v days, will take %v; want %v, %v", k, x.Days, x.Will, days, will)
		}
	}
	none := known.None[float64]()
	f(Kept{Kind: "series, every second", Bytes: 5, PerDay: 10}, series.Options{}, history.Options{}, known.Of(15.0), known.Of(150.0))
	f(Kept{Kind: "series, every second", Bytes: 5, PerDay: 10}, series.Options{Retention: 2 * day}, history.Options{}, known.Of(2.0), known.Of(20.0))
	f(Kept{Kind: "series, every second", PerDay: 10}, series.Options{MaxBytes: 100}, history.Options{}, known.Of(15.0), known.Of(80.0))
	f(Kept{Kind: "series, by the minute", PerDay: 1}, series.Options{}, history.Options{}, known.Of(400.0), known.Of(400.0))
	f(Kept{Kind: "states", Bytes: 7}, series.Options{}, history.Options{}, known.Of(3.0), none) // not an hour of it
	f(Kept{Kind: "states", Bytes: 90, PerDay: 10}, series.Options{}, history.Options{StateAge: day}, known.Of(1.0), known.Of(90.0))
	f(Kept{Kind: "states", PerDay: 3 << 30}, series.Options{}, history.Options{}, known.Of(3.0), known.Of(float64(2<<30)))
	f(Kept{Kind: "ledger", Bytes: 7, PerDay: 1}, series.Options{}, history.Options{}, none, none)
}

// TestUsageCountsLogs: what a store has in its write-ahead log takes room as well.
func TestUsageCountsLogs(t *testing.T) {
	a := alone(t)
	l, err := a.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 { // the log is written back when it is longer
		if err := l.PutTarget(t.Context(), ledger.Target{Name: fmt.Sprint("t", i), URL: "mysql://dyno@db1:3306/"}); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Stat(a.LedgerPath() + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	all, err := a.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(k Kept) bool { return k.Kind == "ledger" })
	if i < 0 || all[i].Bytes < log.Size() || log.Size() == 0 {
		t.Errorf("with a log of %d bytes: %+v", log.Size(), all)
	}
}

func TestAddTarget(t *testing.T) {
	a := alone(t)
	f := func(e ledger.Target, replace bool, want string) {
		t.Helper()
		got, err := a.AddTarget(t.Context(), e, replace)
		if want == "" {
			if err != nil {
				t.Errorf("%+v: %v", e, err)
			}
			return
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, %v, want %q", e, got, err, want)
		}
		if err != nil && strings.Contains(err.Error()+target.HintOf(err), "secret7") {
			t.Errorf("the password is told: %v", err)
		}
	}
	f(ledger.Target{Name: "shop", URL: "mysql://dyno@db1"}, false, "")
	f(ledger.Target{Name: "shop", URL: "mysql://dyno@db1:3306"}, false, "") // the same, written otherwise
	f(ledger.Target{Name: "shop", URL: "mysql://dyno@db2"}, false, "the inventory has a target of that name")
	f(ledger.Target{Name: "shop", URL: "mysql://dyno@db2"}, true, "")
	f(ledger.Target{Name: "p", URL: "mysql://dyno:secret7@db2"}, false, "the URL holds a password")
	f(ledger.Target{Name: "p", URL: "unix:///s?user=x&password=secret7"}, false, "the URL holds a password")
	f(ledger.Target{Name: "p", URL: "mysql://dyno@db2", Defaults: "/a", PasswordEnv: "B"}, false, "both given")
	f(ledger.Target{Name: "p", URL: "mysql://dyno@db2", PasswordEnv: "MY PASS"}, false, "no name of an environment variable")
	f(ledger.Target{Name: "p", URL: "db2"}, false, "no scheme://")
	f(ledger.Target{Name: "p", URL: "postgres://db2"}, false, "not yet supported")
	for _, name := range []string{"", "a b", "a:b", "a/b", "a\nb", "a\u202eb", "a\x00b", strings.Repeat("x", 101), "-a", "a;b", "$(a)", "a`b`", "a&b", "a|b", "a'b", "a*", "~a"} {
		f(ledger.Target{Name: name, URL: "mysql://db2"}, false, "target name")
	}
	l, err := a.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := l.Targets(t.Context())
	if err != nil || len(all) != 1 || all[0].URL != "mysql://dyno@db2:3306/" {
		t.Errorf("the inventory is %+v, %v", all, err)
	}
}

// TestAddTargetAtOnce: of several that take one name at the same time one gets it, and the others are told.
func TestAddTargetAtOnce(t *testing.T) {
	a := alone(t)
	const n = 8
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			_, errs[i] = a.AddTarget(t.Context(), ledger.Target{Name: "shop", URL: fmt.Sprintf("mysql://db%d", i)}, false)
		})
	}
	wg.Wait()
	got := -1
	for i, err := range errs {
		switch {
		case err == nil && got < 0:
			got = i
		case !errors.Is(err, ErrTargetExists):
			t.Errorf("%d: %v, beside %d", i, err, got)
		}
	}
	l, err := a.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if x, err := l.Target(t.Context(), "shop"); err != nil || x.URL != fmt.Sprintf("mysql://db%d:3306/", got) {
		t.Errorf("the inventory has %+v, %v, not db%d", x, err, got)
	}
}

// TestInspect tries logins that work and that do not, before anything is in the inventory.
func TestInspect(t *testing.T) {
	s := servers.Start(t, "mariadb")
	s.Exec(t, "CREATE USER watcher@localhost IDENTIFIED BY 'secret7'")
	a := alone(t, "SHOP_PASSWORD", "secret7", "WRONG", "secret8")
	url := s.URL("watcher")
	c, err := a.Inspect(t.Context(), ledger.Target{Name: "shop", URL: url, PasswordEnv: "SHOP_PASSWORD"})
	if err != nil || !c.Reached || c.User != "watcher@localhost" || len(c.Sources) < 5 || len(c.Grants) == 0 || c.Target != "shop" {
		t.Errorf("reached: %+v, %v", c, err)
	}
	if !strings.Contains(strings.Join(c.Grants, "\n"), "PROCESS") {
		t.Errorf("grants for an account without any: %q", c.Grants)
	}
	file := t.TempDir() + "/my.cnf"
	if err := os.WriteFile(file, []byte("[client]\nuser=watcher\npassword=secret7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := a.Inspect(t.Context(), ledger.Target{URL: "unix://" + s.Socket, Defaults: file}); err != nil || !c.Reached {
		t.Errorf("by a file: %+v, %v", c, err)
	}
	c, err = a.Inspect(t.Context(), ledger.Target{URL: url, PasswordEnv: "WRONG"})
	if err != nil || c.Reached || c.Reason == "" || c.Fix == "" || len(c.Create) == 0 || c.Flavor != "mariadb" {
		t.Errorf("a wrong password: %+v, %v", c, err)
	}
	if b, _ := json.Marshal(c); strings.Contains(string(b), "secret") {
		t.Errorf("the password is told: %s", b)
	}
	if c, err := a.Inspect(t.Context(), ledger.Target{URL: url, PasswordEnv: "NONE"}); err != nil || c.Reached || !strings.Contains(c.Reason, "NONE") {
		t.Errorf("a variable that is not set: %+v, %v", c, err)
	}
	var unknown *UnknownTargetError
	if _, err := a.Inspect(t.Context(), ledger.Target{Name: "nobody"}); !errors.As(err, &unknown) {
		t.Errorf("an unknown name: %v", err)
	}
	if _, err := a.Inspect(t.Context(), ledger.Target{URL: "mysql://u:secret7@h"}); target.KindOf(err) != target.BadTarget {
		t.Errorf("a password in the URL: %v", err)
	}
}

// TestSettingsOfAService watches a server that was found and compares what is told with the disk.
func TestSettingsOfAService(t *testing.T) {
	s := servers.Start(t, "mariadb")
	a := alone(t)
	if _, err := a.AddTarget(t.Context(), ledger.Target{Name: "shop", URL: s.URL("root"), Defaults: os.DevNull}, false); err != nil {
		t.Fatal(err)
	}
	db := s.DB(t, "")
	connections := func() (n int) {
		t.Helper()
		if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'root'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := connections()
	v, err := a.Serve(t.Context(), Serving{Series: series.Options{Retention: 48 * time.Hour}, Looking: Looking{Only: []string{"/nowhere"}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- v.Run(ctx) }()
	defer func() {
		stop()
		if err := errors.Join(<-done, v.Close()); err != nil {
			t.Error(err)
		}
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if m, ok := v.Find("shop"); ok && m.State != nil && m.State.Up {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the server is not watched")
		}
	}
	const most = 4 // see docs/observe.md
	for end := time.Now().Add(2 * time.Minute); connections() > before+most; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("watching takes %d connections", connections()-before)
		}
	}
	x, err := v.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Targets) != 1 || x.Targets[0].Name != "shop" || x.Home != a.Home || !x.Disk.Free.OK() || x.Disk.Free.Or(0) > x.Disk.Total.Or(0) {
		t.Errorf("settings %+v", x)
	}
	if m := x.Process.Memory.Or(0); m < 1<<20 || m > 1<<36 || x.Process.CPU.Or(0) <= 0 {
		t.Errorf("the process takes %d bytes and %v s", m, x.Process.CPU)
	}
	var seen bool
	for _, k := range x.Keeping {
		if k.Kind == "series, every second" {
			seen = true
			if k.Days.Or(0) != 2 || k.Bytes <= 0 || k.Growth.OK() || len(k.Targets) != 1 || k.Targets[0].Share != 1 {
				t.Errorf("series: %+v", k)
			}
		}
	}
	if !seen {
		t.Errorf("nothing tells of the series: %+v", x.Keeping)
	}
	if err := v.RemoveTarget(t.Context(), "shop"); err != nil {
		t.Error(err)
	}
	if err := v.RemoveTarget(t.Context(), "shop"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
}

// TestWhatIsForgottenWasWritten: what earlier searches were told is forgotten once the inventory is another one, and not for a change that
// did not come about.
func TestWhatIsForgottenWasWritten(t *testing.T) {
	a := alone(t)
	shop := ledger.Target{Name: "shop", URL: "mysql://db1"}
	if _, err := a.AddTarget(t.Context(), shop, false); err != nil {
		t.Fatal(err)
	}
	v, err := a.Serve(t.Context(), Serving{Targets: []string{"shop"}})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	f := func(what string, forgotten bool, err error) {
		t.Helper()
		if got := v.desk.seek.at.IsZero(); got != forgotten || (err == nil) != forgotten {
			t.Errorf("%s: %v, forgotten: %v", what, err, got)
		}
		v.desk.seek.at = time.Now()
	}
	f("nothing", true, nil)
	add := func(url string, replace bool) error {
		_, err := v.AddTarget(t.Context(), ledger.Target{Name: "shop", URL: url}, replace)
		return err
	}
	f("a password in the URL", false, add("mysql://u:secret7@db2", true))
	f("a name that is taken", false, add("mysql://db2", false))
	f("another address", true, add("mysql://db2", true))
	f("an unknown name", false, v.RemoveTarget(t.Context(), "none"))
	f("the target", true, v.RemoveTarget(t.Context(), "shop"))
}
