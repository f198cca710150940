package capture

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/source"
)

func TestOneReadingIsNotOK(t *testing.T) {
	f := func(in source.Source, want source.State) {
		t.Helper()
		got := settle([]source.Source{in})[0]
		if got.State != want || (want != source.OK && got.Reason == "") {
			t.Fatalf("got %+v, want %s with a reason", got, want)
		}
	}
	f(source.Source{Name: "a", State: source.OK, Reads: 2}, source.OK)
	f(source.Source{Name: "a", State: source.OK, Reads: 1}, source.Failed)
	f(source.Source{Name: "a", State: source.OK}, source.Failed)
	f(source.Source{Name: "a", State: source.Denied, Reason: "no PROCESS"}, source.Denied)
}
