package history

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/sketch"
)

// TestDistributionsAreSummed keeps two days of minutes: those of an hour and a day have the quantiles of all of their
// statements, exactly those of the merged minutes and within 1 % of the values; they go when their windows go.
func TestDistributionsAreSummed(t *testing.T) {
	h := mustOpen(t, file(t), Options{MinuteAge: 24 * time.Hour})
	day := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	rnd := rand.New(rand.NewPCG(1, 2))
	var values []float64
	const long = 10 * time.Minute
	for i := range 2 * 24 * 6 {
		at := day.Add(time.Duration(i) * long)
		b := new(sketch.Bins)
		for range 10 + rnd.IntN(10) {
			v := 1e6 * (1 + rnd.Float64()) * []float64{1, 1, 200}[rnd.IntN(3)]
			b.Add(v, 1)
			if i < 24*6 {
				values = append(values, v)
			}
		}
		d := class.Distributions{
			From: at, To: at.Add(long), Origin: class.SlowLog, Server: b, Own: 1,
			Classes: []class.Distribution{{ID: "A", Schema: "d", Times: b}, {ID: "not there", Times: b}},
		}
		ok(t, h.PutClasses(t.Context(), "shop", at, at.Add(long), []class.Class{a(1, 2, 1)}, d))
	}
	slices.Sort(values)
	read := func(id string, from, to time.Duration) []Distribution {
		t.Helper()
		ds, err := ReadDistributions(t.Context(), h, "shop", id, day.Add(from), day.Add(to))
		ok(t, err)
		return ds
	}
	for _, id := range []string{"", "A"} {
		merged := new(sketch.Bins)
		for _, half := range []time.Duration{0, 12 * time.Hour} {
			minutes := read(id, half, half+12*time.Hour)
			if len(minutes) != 72 || minutes[0].Covered != 600 || minutes[0].Origin != class.SlowLog {
				t.Fatalf("%q: %d windows of ten minutes, %+v", id, len(minutes), minutes[0])
			}
			for _, m := range minutes {
				merged.Merge(m.Times)
			}
		}
		hours, days := read(id, 0, 48*time.Hour), read(id, 0, 31*24*time.Hour)
		if len(hours) != 48 || len(days) != 2 || days[0].Covered != 86400 || (days[0].Own == 144) != (id == "") {
			t.Fatalf("%q: %d hours, %d days, %+v", id, len(hours), len(days), days[0])
		}
		sum := new(sketch.Bins)
		for _, x := range hours[:24] {
			sum.Merge(x.Times)
		}
		for _, q := range []float64{0, 0.01, 0.5, 0.66, 0.95, 0.99, 1} {
			rank := sketch.Rank(q, uint64(len(values)))
			want, got, exact := merged.Value(rank), days[0].Times.Value(rank), values[rank-1]
			if got != want || sum.Value(rank) != want || got < exact*0.992 || got > exact*1.008 {
				t.Errorf("%q: quantile %v: day %v, hours %v, minutes %v, exact %v", id, q, got, sum.Value(rank), want,
					exact)
			}
		}
	}
	usage := func() Usage {
		t.Helper()
		us, err := h.Usage(t.Context())
		ok(t, err)
		return us[slices.IndexFunc(us, func(u Usage) bool { return u.Kind == "distributions" })]
	}
	if u := usage(); u.Rows != 2*(288+48+2) || u.Bytes < 1<<14 || !u.Oldest.Equal(day) {
		t.Errorf("%+v", u)
	}
	ok(t, h.Maintain(t.Context(), day.Add(73*time.Hour)))
	if u := usage(); u.Rows != 2*(48+2) {
		t.Errorf("without minutes: %+v", u)
	}
	ok(t, h.Maintain(t.Context(), day.Add(500*24*time.Hour)))
	var size int64
	ok(t, h.db.QueryRowContext(t.Context(), "SELECT sum(size) FROM target").Scan(&size))
	if u := usage(); u.Rows != 0 || size > 1000 {
		t.Errorf("after all: %+v, size %d", u, size)
	}
}

// TestNoDistributionSaysWhy keeps the reason, and a file of before gets the table.
func TestNoDistributionSaysWhy(t *testing.T) {
	path := file(t)
	h := mustOpen(t, path, Options{})
	_, err := h.db.ExecContext(t.Context(),
		"DROP TABLE spread; DROP TRIGGER spread_of_figure; DROP TRIGGER spread_of_win")
	ok(t, err)
	ok(t, h.Close())
	h = mustOpen(t, path, Options{})
	at := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for i, d := range []class.Distributions{
		{From: at, To: at.Add(time.Minute), Reason: "emptied"},
		{From: at.Add(time.Minute), To: at.Add(2 * time.Minute), Server: binsOf(5)},
	} {
		from := at.Add(time.Duration(i) * time.Minute)
		ok(t, h.PutClasses(t.Context(), "shop", from, from.Add(time.Minute), []class.Class{a(1, 2, 1)}, d))
	}
	ds, err := ReadDistributions(t.Context(), h, "shop", "", at, at.Add(time.Hour))
	ok(t, err)
	if len(ds) != 2 || ds[0].Reason != "emptied" || ds[0].Times != nil || ds[0].Covered != 0 ||
		ds[1].Reason != "" || ds[1].Times.Count() != 1 || ds[1].Covered != 60 {
		t.Errorf("%+v", ds)
	}
	ds, err = ReadDistributions(t.Context(), h, "shop", "", at, at.Add(31*24*time.Hour))
	if err != nil || len(ds) != 1 || ds[0].Reason != "emptied" || ds[0].Times.Count() != 1 || ds[0].Covered != 60 ||
		ds[0].Seconds != 120 {
		t.Errorf("%+v, %v", ds, err)
	}
}

// TestMixedOriginIsTheLessExact: a minute of a slow log among minutes of histograms makes no hour exact.
func TestMixedOriginIsTheLessExact(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	at := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for i, o := range []class.Origin{class.SlowLog, class.PerformanceSchema, "", class.SlowLog} {
		from := at.Add(time.Duration(i) * time.Minute)
		d := class.Distributions{From: from, To: from.Add(time.Minute), Origin: o, Server: binsOf(5)}
		if o == "" {
			d.Server, d.Reason = nil, "emptied"
		}
		ok(t, h.PutClasses(t.Context(), "shop", from, from.Add(time.Minute), []class.Class{a(1, 2, 1)}, d))
	}
	ds, err := ReadDistributions(t.Context(), h, "shop", "", at, at.Add(31*24*time.Hour))
	if err != nil || len(ds) != 1 || ds[0].Origin != class.PerformanceSchema || ds[0].Times.Count() != 3 {
		t.Errorf("%+v, %v", ds, err)
	}
}

func binsOf(values ...float64) *sketch.Bins {
	b := new(sketch.Bins)
	for _, v := range values {
		b.Add(v, 1)
	}
	return b
}
