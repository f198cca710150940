package snapshot

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
)

func sample() *Snapshot {
	return &Snapshot{
		Format: Format, From: time.Unix(100, 0).UTC(), To: time.Unix(110, 0).UTC(),
		Target:  Target{Name: "a", Flavor: "mariadb", Version: "10.11.19"},
		Sources: []source.Source{{Name: "digests", State: source.Missing, Reason: "off"}},
		Series: []metric.Series{
			{Name: "b", Kind: metric.Counter, Points: []metric.Point{{At: 1000, Value: 1}, {At: 2000, Value: 11}}},
			{Name: "a", Labels: metric.L("mode", "user"), Points: []metric.Point{{At: 1000, Value: 1}}},
			{Name: "a", Labels: metric.L("mode", "idle"), Points: []metric.Point{{At: 1000, Value: 2}}},
		},
		Classes: []class.Class{{ID: "x", Fingerprint: "select ? <b>", TimeSec: 2, RowsSent: known.Of(uint64(0))}},
		Plans:   []explain.Plan{{Class: "x", Error: "denied"}},
		Tables:  []schema.Table{{Ref: schema.Ref{Schema: "d", Table: "t"}}},
	}
}

func TestRoundTripIsByteIdentical(t *testing.T) {
	a, err := sample().Encode()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Decode(a)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := s.Encode()
	if d := cmp.Diff(string(a), string(b)); d != "" {
		t.Fatal(d)
	}
	if !strings.Contains(string(a), "select ? <b>") {
		t.Fatal("texts are escaped beyond need")
	}
}

func TestEveryTruncationIsAnError(t *testing.T) {
	b, _ := sample().Encode()
	body := strings.TrimRight(string(b), "\n")
	for i := range body {
		if _, err := Decode([]byte(body[:i])); err == nil {
			t.Fatalf("the first %d of %d bytes were accepted", i, len(body))
		}
	}
}

func TestBadSnapshots(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		_, err := Decode([]byte(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", in, err, want)
		}
	}
	f("", "line 1 column 1")
	f("{\n \"dyno_snapshot\": 2,\n \"from\": 7}", "not a JSON string")
	f(`{}`, "not a snapshot")
	f(`[1]`, "line 1")
	f(`{"dyno_snapshot": 1}`, "it has format 1, this dyno reads format 2: use the version that wrote it")
	f(`{"dyno_snapshot": 99}`, "format 99")
	f(`{"dyno_snapshot": 2}`, "window")
	b, _ := sample().Encode()
	f(string(b)+"{}", "after top-level value")
	f(strings.Replace(string(b), `"t": 2000`, `"t": 1000`, 1), "order of time")
	f(strings.Replace(string(b), `"id": "x"`, `"id": ""`, 1), "no id")
	f(strings.Replace(string(b), `"uptime_sec": 0`, `"uptime_sec": "zero"`, 1), "column")
}

func TestLookups(t *testing.T) {
	s := sample()
	if x, ok := s.Find("a", metric.Label{Name: "mode", Value: "idle"}); !ok || x.Points[0].Value != 2 {
		t.Fatalf("got %v %v", x, ok)
	}
	if r, ok := s.Rate("b").Get(); !ok || r != 10 {
		t.Fatalf("got %v %v", r, ok)
	}
	if s.Rate("a").OK() || s.Rate("nothing").OK() {
		t.Fatal("a rate was made of less than two points")
	}
	if s.Source("global_status").State != source.Missing {
		t.Fatal("an unlisted source reads as present")
	}
}
