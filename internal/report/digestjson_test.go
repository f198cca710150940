package report

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/known"
)

// TestAppendClass: what is written by hand is what encoding/json writes.
func TestAppendClass(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	number := func() float64 {
		switch rng.IntN(6) {
		case 0:
			return float64(rng.IntN(100))
		case 1:
			return rng.Float64()
		case 2:
			return -rng.Float64() * 1e-9
		case 3:
			return math.Ldexp(rng.Float64(), rng.IntN(2000)-1000)
		case 4:
			return [...]float64{
				0, math.Copysign(0, -1), 1e-6, 9.99e-7, 1e21, 9.99e20, math.MaxFloat64,
				math.SmallestNonzeroFloat64, 1e-7, 1e-10, 1e100,
			}[rng.IntN(11)]
		default:
			return float64(rng.Uint64())
		}
	}
	maybe := func() known.Value[float64] {
		if rng.IntN(4) == 0 {
			return known.None[float64]()
		}
		return known.Of(number())
	}
	for range 20_000 {
		f := digest.Figures{
			Label: "no", Count: rng.Uint64(), Share: maybe(), Sum: number(), Min: maybe(), Max: maybe(),
			Avg: number(), P95: maybe(), Stddev: maybe(), Median: maybe(),
		}
		want, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendFigures(nil, f); string(got) != string(want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
	for _, k := range []digest.Row{
		{Attributes: map[string]digest.Figures{}},
		{
			ID: `"attributes":null`, Fingerprint: `x "attributes":null <&>`, Item: "\x00\u2028",
			Attributes: map[string]digest.Figures{"b": {Count: 1}, "a\"<": {Sum: 2}, "c": {}},
		},
	} {
		want, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		got, err := appendClass([]byte("x"), k)
		if err != nil || string(got) != "x"+string(want) {
			t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
		}
	}
}
