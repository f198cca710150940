package capture

import (
	"testing"

	"dyno/internal/snapshot"
)

func TestOneReadingIsNotOK(t *testing.T) {
	f := func(in snapshot.Source, want snapshot.SourceState) {
		t.Helper()
		got := settle([]snapshot.Source{in})[0]
		if got.State != want || (want != snapshot.OK && got.Reason == "") {
			t.Fatalf("got %+v, want %s with a reason", got, want)
		}
	}
	f(snapshot.Source{Name: "a", State: snapshot.OK, Reads: 2}, snapshot.OK)
	f(snapshot.Source{Name: "a", State: snapshot.OK, Reads: 1}, snapshot.Failed)
	f(snapshot.Source{Name: "a", State: snapshot.OK}, snapshot.Failed)
	f(snapshot.Source{Name: "a", State: snapshot.Denied, Reason: "no PROCESS"}, snapshot.Denied)
}
