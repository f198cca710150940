package incident

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/state"
)

var start = time.Unix(60_000, 0).UTC()

// up is a server that answers, with so many sessions that have waited for sec seconds for session 44.
func up(n int, sec float64) Sample {
	s := Sample{State: &state.State{Up: true, Sessions: []state.Session{{
		ID: 44, User: "app", Host: "localhost",
		Command: "Sleep",
	}}}, Locks: true, LimitName: "max_connections"}
	for i := range n {
		s.State.Waits = append(s.State.Waits, state.Wait{
			Kind: state.RowLock, Waiter: uint64(i + 1),
			Blocker: known.Of[uint64](44), Seconds: known.Of(sec),
		})
	}
	return s
}

// run gives a detector one sample a second and returns what changed, as "12 locks begins: text".
func run(samples ...Sample) (got []string) {
	var d Detector
	for i, s := range samples {
		s.State.At = start.Add(time.Duration(i) * time.Second)
		for _, c := range d.Next(s) {
			word := "begins"
			if !c.Open {
				word = fmt.Sprintf("ends %v to %v", c.From.Sub(start), c.To.Sub(start))
			}
			got = append(got, fmt.Sprintf("%d %s %s: %s", i, c.Kind, word, c.Text))
		}
	}
	return got
}

func times(n int, f func() Sample) (all []Sample) {
	for range n {
		all = append(all, f())
	}
	return all
}

// TestWhatAGapHeld: connections that were refused, and sessions that waited, while nothing was read are of no second.
func TestWhatAGapHeld(t *testing.T) {
	var d Detector
	for _, after := range []time.Duration{0, time.Second, 40 * time.Minute, 40*time.Minute + time.Second} {
		s := up(6, 0)
		for i := range s.State.Waits {
			s.State.Waits[i].Seconds = known.None[float64]()
		}
		s.State.At, s.Refused = start.Add(after), known.Of(float64(after/time.Minute)*100)
		if after < time.Minute {
			s.State.Waits = s.State.Waits[:2]
		}
		if got := d.Next(s); len(got) > 0 || after%time.Minute == 0 && d.Level() > 0 {
			t.Errorf("after %v: %+v, level %v", after, got, d.Level())
		}
	}
}

func TestNext(t *testing.T) {
	f := func(name string, samples []Sample, want ...string) {
		t.Helper()
		if got := run(samples...); !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
	quiet := func() Sample { return up(0, 0) }
	pile := func() Sample { return up(6, 3) }
	join := slices.Concat[[]Sample]

	slow := func() Sample { return Sample{State: &state.State{Reason: "no answer in time"}, Slow: true} }
	f("a busy machine", join(times(5, quiet), times(3, slow), times(5, quiet), times(3, slow), times(5, quiet)))
	f("a server that hangs", join(times(5, quiet), times(6, slow), times(5, quiet)),
		"8 down begins: Server down: no answer in time",
		"12 down ends 5s to 11s: Server down for 6s: no answer in time")
	f("nothing", times(20, quiet))
	f("a pile-up", join(times(3, quiet), times(10, pile), times(5, quiet)),
		"4 locks begins: Lock pile-up: 6 sessions waited, blocked by session 44 (app@localhost, idle)",
		"16 locks ends 3s to 13s: Lock pile-up for 10s: 6 sessions waited")
	f("it ebbs and comes again", join(times(3, pile), times(2, quiet), []Sample{up(1, 9)}, times(2, quiet),
		times(3, pile), times(4, quiet)),
		"1 locks begins", "14 locks ends 0s to 11s")
	f("two are two", join(times(2, pile), times(4, quiet), times(2, pile), times(4, quiet)), "1 locks begins",
		"5 locks ends", "7 locks begins", "11 locks ends")
	f("short waits", times(20, func() Sample { return up(9, 0.2) }))
	f("one that waits", times(20, func() Sample { return up(1, 30) }))
	f("what was not read neither begins nor ends", join(times(2, pile),
		times(20, func() Sample { s := quiet(); s.Locks = false; return s }), times(1, pile)), "1 locks begins")
	f("named locks", times(20, func() Sample {
		s := pile()
		for i := range s.State.Waits {
			s.State.Waits[i].Kind = state.UserLock
		}
		return s
	}))
	f("waits that the server does not time", join(times(3, func() Sample {
		s := pile()
		for i := range s.State.Waits {
			s.State.Waits[i].Seconds, s.State.Waits[i].Blocker = known.None[float64](), known.None[uint64]()
		}
		return s
	})), "2 locks begins: Lock pile-up: 6 sessions waited, blocked by a session that the server does not report")

	down := func() Sample { return Sample{State: &state.State{Reason: "connection refused"}} }
	f("down and back", join(times(3, quiet), times(5, down), times(3, quiet)),
		"4 down begins: Server down: connection refused",
		"9 down ends 3s to 8s: Server down for 5s: connection refused")
	f("down for one reading", join(times(3, quiet), times(1, down), times(3, quiet)))
	f("not configured is not down", times(5, func() Sample { s := down(); s.State.NotConfigured = true; return s }))
	refuses := func() Sample {
		return Sample{State: &state.State{Reason: "Error 1045", LoginRefused: true}}
	}
	f("a login refused is not down", join(times(2, quiet), times(5, refuses), times(3, quiet)),
		"3 login begins: Login refused: Error 1045", "8 login ends 2s to 7s: Login refused for 5s: Error 1045")
	f("refused, then down", join(times(3, refuses), times(3, down)),
		"1 login begins", "4 down begins: Server down: connection refused", "4 login ends 0s to 3s")
	f("the others end with the server", join(times(3, pile), times(2, down)), "1 locks begins",
		"3 locks ends 0s to 3s", "4 down begins")

	busy := func(running float64) func() Sample {
		return func() Sample {
			s := quiet()
			s.State.Vitals = []state.Vital{{Name: state.Running, Value: running}, {Name: state.HostCPUs, Value: 8}}
			return s
		}
	}
	f("saturated", join(times(3, busy(40)), times(5, busy(20)), times(12, busy(3))),
		"2 saturation begins: Server saturated: 40 sessions ran at a time on 8 CPUs", "18 saturation ends 0s to 8s")
	f("busy", times(20, busy(31)))
	f("those that wait for locks do not run", times(2, func() Sample {
		s := up(35, 2)
		s.State.Vitals = busy(40)().State.Vitals
		return s
	}), "1 locks begins")

	refused := 7.0
	refusing := func(by float64) func() Sample {
		return func() Sample { s := quiet(); refused += by; s.Refused = known.Of(refused); return s }
	}
	f("refused", join(times(3, refusing(0)), times(4, refusing(2)), times(12, refusing(0))),
		"3 refused begins: Connections refused: max_connections was reached", "17 refused ends 3s to 7s")
	// While no connection is left the next client would be refused, whether one tries or not. The limit is read less
	// often.
	full := func(read bool, open float64) func() Sample {
		return func() Sample {
			s := refusing(0)()
			if s.Connected = known.Of(open); read {
				s.Limit = known.Of(60.0)
			}
			return s
		}
	}
	f("full", join(times(2, full(true, 60)), times(1, refusing(1)), times(30, full(false, 60)),
		times(12, full(false, 59))),
		"2 refused begins: Connections refused: max_connections was reached", "43 refused ends 2s to 33s")
	f("full, and none tries", times(30, full(true, 60)))
	f("it was restarted", append(times(3, refusing(0)), func() Sample {
		s := quiet()
		s.Refused = known.Of(1.0)
		return s
	}()))

	replica := func(what string) func() Sample {
		return func() Sample { s := quiet(); s.Replica = known.Of(what); return s }
	}
	f("a replica that stopped", join(times(3, replica("")),
		times(5, replica("the SQL thread does not run, error 1062")), times(3, quiet), times(5, replica(""))),
		"6 replication begins: Replication stopped: the SQL thread does not run, error 1062",
		"14 replication ends 3s to 11s: Replication stopped for 8s")
	f("a replica that reconnects", join(times(3, replica("")), times(3, replica("the IO thread does not run")),
		times(5, replica(""))))

	// Whatever comes, incidents of a kind begin and end in turns, and each ends after its begin.
	var d Detector
	open := map[event.Kind]bool{}
	for i := range 5000 {
		makers := []func() Sample{
			quiet, pile, down, busy(50), refusing(1), replica(""), replica("x"),
			func() Sample { return up(1, 5) },
		}
		s := makers[(i*7919+i/13)%len(makers)]()
		s.State.At = start.Add(time.Duration(i) * time.Second)
		for _, c := range d.Next(s) {
			if open[c.Kind] == c.Open || c.To.Before(c.From) {
				t.Fatalf("%d: %+v", i, c)
			}
			open[c.Kind] = c.Open
		}
	}
}
