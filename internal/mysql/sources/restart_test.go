package sources

import (
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
)

func TestUptimeTellsRestartsFromClocks(t *testing.T) {
	t0 := time.Unix(1_800_000_000, 0).UTC()
	f := func(name string, up, conns float64, gen int, after time.Duration, want bool) {
		t.Helper()
		var u uptime
		u.note([]byte("Uptime"), 1000)
		u.note([]byte("Connections"), 500)
		if _, ok := u.settle(1, t0, t0); ok {
			t.Fatal("the first reading is a restart")
		}
		u.note([]byte("Uptime"), up)
		u.note([]byte("Connections"), conns)
		e, ok := u.settle(gen, t0.Add(after), t0.Add(after))
		if ok != want {
			t.Fatalf("%s: restart %v, want %v", name, ok, want)
		}
		if ok && (e.Kind != event.Restart || !e.At.Equal(t0.Add(after-time.Duration(up)*time.Second)) ||
			!strings.Contains(e.Text, "up for 16m40s")) {
			t.Fatalf("%s: %+v", name, e)
		}
	}
	f("the next second", 1001, 501, 1, time.Second, false)
	f("nobody connected", 1001, 500, 1, time.Second, false)
	f("the server's clock was set back", 400, 501, 1, time.Second, false)
	f("its clock was set forward", 99999, 501, 1, time.Second, false)
	f("we slept", 1600, 700, 2, 10*time.Minute, false)
	f("the connection broke, the server lives", 1005, 510, 2, 5*time.Second, false)
	f("another server answers, older than this one", 5000, 90000, 2, 5*time.Second, false)
	f("another server answers, younger than this one", 500, 30, 2, 5*time.Second, false)
	f("started again", 3, 5, 2, 5*time.Second, true)
	f("started again and is busy already", 3, 900, 2, 5*time.Second, true)
	f("started again during a long gap", 2000, 90000, 2, time.Hour, true)
}

func TestUptimeNeedsBoth(t *testing.T) {
	var u uptime
	now := time.Now()
	u.note([]byte("Uptime"), 1000)
	u.settle(1, now, now)
	u.note([]byte("Uptime"), 1)
	u.note([]byte("Connections"), 1)
	if _, ok := u.settle(1, now, now); ok {
		t.Fatal("a restart out of one whole reading")
	}
}
