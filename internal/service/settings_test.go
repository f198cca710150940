package service

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/discovery"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/series"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestKeepingOf(t *testing.T) {
	const day = 24 * time.Hour
	f := func(k app.Kept, so series.Options, ho history.Options, days, will known.Value[float64]) {
		t.Helper()
		x := keepingOf([]app.Kept{k}, Options{Series: so, History: ho})[0]
		if x.Days != days || x.Will != will {
			t.Errorf("%+v: kept %v days, will take %v; want %v, %v", k, x.Days, x.Will, days, will)
		}
	}
	none := known.None[float64]()
	f(app.Kept{Kind: "series, every second", Bytes: 5, PerDay: 10}, series.Options{}, history.Options{},
		known.Of(15.0), known.Of(150.0))
	f(app.Kept{Kind: "series, every second", Bytes: 5, PerDay: 10}, series.Options{Retention: 2 * day},
		history.Options{}, known.Of(2.0), known.Of(20.0))
	f(app.Kept{Kind: "series, every second", PerDay: 10}, series.Options{MaxBytes: 100}, history.Options{},
		known.Of(15.0), known.Of(80.0))
	f(app.Kept{Kind: "series, by the minute", PerDay: 1}, series.Options{}, history.Options{},
		known.Of(400.0), known.Of(400.0))
	f(app.Kept{Kind: "states", Bytes: 7}, series.Options{}, history.Options{}, known.Of(3.0), none) // not an hour of it
	f(app.Kept{Kind: "states", Bytes: 90, PerDay: 10}, series.Options{}, history.Options{StateAge: day},
		known.Of(1.0), known.Of(90.0))
	f(app.Kept{Kind: "states", PerDay: 3 << 30}, series.Options{}, history.Options{}, known.Of(3.0),
		known.Of(float64(2<<30)))
	f(app.Kept{Kind: "ledger", Bytes: 7, PerDay: 1}, series.Options{}, history.Options{}, none, none)
}

// TestSettingsOfAService watches a server that was found and compares what is told with the disk.
func TestSettingsOfAService(t *testing.T) {
	s := servers.Start(t, "mariadb")
	a := alone(t)
	if _, err := (app.Inventory{App: a}).AddTarget(t.Context(),
		ledger.Target{Name: "shop", URL: s.URL("root"), Defaults: os.DevNull},
		false); err != nil {
		t.Fatal(err)
	}
	db := s.DB(t, "")
	connections := func() (n int) {
		t.Helper()
		if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'root'").
			Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := connections()
	v, err := New(t.Context(), a, Options{
		Series:  series.Options{Retention: 48 * time.Hour},
		Looking: discovery.Options{Only: []string{"/nowhere"}},
	})
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
		if m, ok := v.Fleet.Find("shop"); ok && m.State != nil && m.State.Up {
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
	if len(x.Targets) != 1 || x.Targets[0].Name != "shop" || x.Home != a.Home || !x.Disk.Free.OK() ||
		x.Disk.Free.Or(0) > x.Disk.Total.Or(0) {
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
	if err := v.Inventory.RemoveTarget(t.Context(), "shop"); err != nil {
		t.Error(err)
	}
	if err := v.Inventory.RemoveTarget(t.Context(), "shop"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
}

// TestWhatIsForgottenWasWritten: what earlier searches were told is forgotten once the inventory is another one, and
// not for a change that did not come about.
func TestWhatIsForgottenWasWritten(t *testing.T) {
	a := alone(t)
	shop := ledger.Target{Name: "shop", URL: "mysql://db1"}
	if _, err := (app.Inventory{App: a}).AddTarget(t.Context(), shop, false); err != nil {
		t.Fatal(err)
	}
	v, err := New(t.Context(), a, Options{Targets: []string{"shop"}, Looking: discovery.Options{None: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	f := func(what string, forgotten bool, err error) {
		t.Helper()
		if got := !v.Inventory.seek.Fresh(); got != forgotten || (err == nil) != forgotten {
			t.Errorf("%s: %v, forgotten: %v", what, err, got)
		}
		if _, err := v.Inventory.Discover(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	f("nothing", true, nil)
	add := func(url string, replace bool) error {
		_, err := v.Inventory.AddTarget(t.Context(), ledger.Target{Name: "shop", URL: url}, nil, replace)
		return err
	}
	f("a password in the URL", false, add("mysql://u:secret7@db2", true))
	f("a name that is taken", false, add("mysql://db2", false))
	f("another address", true, add("mysql://db2", true))
	f("an unknown name", false, v.Inventory.RemoveTarget(t.Context(), "none"))
	f("the target", true, v.Inventory.RemoveTarget(t.Context(), "shop"))
}
