package load

import (
	"strings"
	"testing"
	"time"
)

func TestClientThatCouldNotKeepUp(t *testing.T) {
	const s = time.Second
	f := func(c client, invalid, warning string) {
		t.Helper()
		gotInvalid, gotWarning := c.judge()
		check := func(what, got, want string) {
			t.Helper()
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("%+v: %s %q, want %q", c, what, got, want)
			}
		}
		check("invalid", gotInvalid, invalid)
		check("warning", gotWarning, warning)
	}
	f(client{used: 19 * s, elapsed: 10 * s, cpus: 2}, "95 % of the 2 CPUs", "")
	f(client{used: 17 * s, elapsed: 10 * s, cpus: 2}, "", "85 % of the 2 CPUs")
	f(client{used: 10 * s, elapsed: 10 * s, cpus: 2}, "", "")
	f(client{elapsed: 10 * s, cpus: 2}, "", "")
	f(client{used: time.Millisecond, elapsed: time.Millisecond, cpus: 1}, "", "") // too short to say
	f(client{used: s, cpus: 1}, "", "")

	busy := client{used: 10 * s, elapsed: 10 * s, cpus: 4}
	busy.loops = []time.Duration{3 * s, 95 * s / 10}
	f(busy, "event loop of the client used 95 %", "")
	busy.loops[1] = 8 * s
	f(busy, "", "")

	own := func(o ownFigures) client { return client{used: s, elapsed: 10 * s, cpus: 2, ownFigures: o} }
	f(own(ownFigures{waited: 3 * s, served: 10 * s}), "30 % of the statements' time", "")
	f(own(ownFigures{waited: 2 * s, served: 10 * s}), "", "")
	f(own(ownFigures{late: 2, begun: 100}), "2.0 % of the operations began more than 5ms after", "")
	f(own(ownFigures{late: 2, begun: 1000}), "", "")

	f(client{used: s, elapsed: 10 * s, cpus: 2, still: s}, "stood still for 1s", "")
	f(client{used: s, elapsed: 10 * s, cpus: 2, still: s / 4}, "", "")
}
