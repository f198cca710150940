package service

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/state"
)

// TestLimitSetElsewhere: a limit that another process has set is followed, without a restart, and takes the oldest of
// the target that has most.
func TestLimitSetElsewhere(t *testing.T) {
	ctx, a := t.Context(), alone(t)
	v, err := New(ctx, a, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}()
	noon := time.Now().Add(-time.Hour).Truncate(time.Second)
	random := rand.New(rand.NewPCG(1, 2))
	put := func(target string, n, bytes int) {
		t.Helper()
		for i := range n {
			text := make([]byte, bytes)
			for j := range text {
				text[j] = byte('!' + random.IntN(90))
			}
			s := &state.State{Target: target, At: noon.Add(time.Duration(i) * time.Second), EngineStatus: string(text)}
			if err := v.History.PutState(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	put("quiet", 100, 10)
	put("noisy", 200, 20_000)
	count := func(target string) (n int, last time.Time) {
		t.Helper()
		if err := v.History.Maintain(ctx, time.Now()); err != nil {
			t.Fatal(err)
		}
		all, err := v.History.StateTimes(ctx, target, noon, noon.Add(time.Hour), 0)
		if err != nil || len(all) == 0 {
			t.Fatalf("%s: %d, %v", target, len(all), err)
		}
		return len(all), all[len(all)-1]
	}
	if n, _ := count("noisy"); n != 200 {
		t.Fatalf("%d states without a limit", n)
	}
	if err := WriteRetention(a, "max-states", 1<<20); err != nil {
		t.Fatal(err)
	}
	if changed, err := v.Retention.follow(); !changed || err != nil {
		t.Fatalf("followed: %v, %v", changed, err)
	}
	if changed, err := v.Retention.follow(); changed || err != nil {
		t.Errorf("followed again: %v, %v", changed, err)
	}
	if n, last := count("noisy"); n == 200 || !last.Equal(noon.Add(199*time.Second)) {
		t.Errorf("%d states of noisy, the last of %v", n, last)
	}
	if n, _ := count("quiet"); n != 100 {
		t.Errorf("%d states of quiet", n)
	}
	for _, x := range []struct {
		name  string
		value float64
	}{{"max-states", 5}, {"max-series", 1 << 20}, {"max-journal", 1 << 30}, {"keep-states", 0}} {
		if err := WriteRetention(a, x.name, x.value); !errors.Is(err, ErrBadRetention) {
			t.Errorf("%s %v: %v", x.name, x.value, err)
		}
	}
	all, err := Usage(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range all {
		if k.Kind == "states" && (k.Limit.Or(0) != 1<<20 || k.LimitName != "max-states") {
			t.Errorf("%+v", k)
		}
	}
}
