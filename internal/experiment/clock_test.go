package experiment

import (
	"testing"
	"time"
)

func TestParted(t *testing.T) {
	a := instant{wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), running: time.Hour, asleep: 3 * time.Hour}
	f := func(wall, running, asleep time.Duration, want string) {
		t.Helper()
		b := instant{wall: a.wall.Add(wall), running: a.running + running, asleep: a.asleep + asleep}
		if got := a.parted(b); got != want {
			t.Errorf("%v, %v, %v: %q, want %q", wall, running, asleep, got, want)
		}
	}
	f(time.Minute, time.Minute, 0, "")
	f(time.Minute+400*time.Millisecond, time.Minute, 0, "") // within what readings differ by
	f(time.Minute+3*time.Second, time.Minute, 0, "the machine's clock jumped by +3.0 s")
	f(-time.Hour, time.Minute, 0, "the machine's clock jumped by -3660.0 s")
	f(time.Minute+20*time.Second, time.Minute, 20*time.Second, "the machine slept for 20.0 s")
	f(time.Minute, time.Minute, 400*time.Millisecond, "")
}

// TestMachineClock reads the clocks of this machine, however busy it is.
func TestMachineClock(t *testing.T) {
	c := machineClock{time.Now()}
	a := c.now()
	if d := time.Since(a.wall).Abs(); d > time.Minute {
		t.Errorf("wall clock is %v off", d)
	}
	time.Sleep(20 * time.Millisecond)
	b := c.now()
	if ran := b.running - a.running; ran < 20*time.Millisecond {
		t.Errorf("it ran for %v", ran)
	}
	if why := a.parted(b); why != "" {
		t.Errorf("clocks parted: %s", why)
	}
	if a.asleep < 0 || a.wall.String() != a.wall.Round(0).String() {
		t.Errorf("%+v", a)
	}
}
