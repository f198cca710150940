package state

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/source"
)

func TestCodecKeepsWhatIsUnknown(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := &State{
		Target: "shop", At: at, Up: true, Server: "mariadb 10.11.19", Vitals: []Vital{{QPS, 1.5}},
		Sessions: []Session{{
			ID: 1<<63 + 1, Command: "Query", SQL: "SELECT 'é'", Seconds: 0.25,
			Examined: known.Of(uint64(0)),
		}},
		Connections: known.Of(0), Waits: []Wait{
			{Kind: MetadataLock, Waiter: 7, Why: "not told"},
			{Kind: RowLock, Waiter: 8, Blocker: known.Of(uint64(0))},
		},
		Transactions: []Transaction{{ID: "1f", Phase: "RUNNING"}},
		Sources:      []source.Source{{Name: "locks", State: source.Denied}},
	}
	b, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(b)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v (%v) of %s", got, err, b)
	}
	if strings.Contains(string(b), `"idle"`) || !strings.Contains(string(b), `"connections":0`) {
		t.Fatalf("%s", b)
	}
	if _, err := Decode([]byte(`{"target":`)); err == nil {
		t.Fatal("half a document was accepted")
	}
	if s, err := Decode([]byte(`{"target":"a","tomorrow":1}`)); err != nil || s.Target != "a" {
		t.Fatal(err)
	}
}
