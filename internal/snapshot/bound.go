package snapshot

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
)

// Bounds of what a snapshot holds of a server's statements and figures, bytes as JSON. Package catalog bounds its
// tables.
const (
	mostOfClasses = 16 << 20
	mostOfSeries  = 48 << 20
	pointBytes    = 40
)

// Bound leaves out what a snapshot has no room for, and says so in its sources: of classes those with the least time,
// of series points in between, and whole ones when that is not enough.
func Bound(s *Snapshot, lost int) {
	byTime := make([]int, len(s.Classes))
	for i := range byTime {
		byTime[i] = i
	}
	slices.SortStableFunc(byTime, func(a, b int) int { return cmp.Compare(s.Classes[b].TimeSec, s.Classes[a].TimeSec) })
	room, fits := mostOfClasses, make([]bool, len(s.Classes))
	for _, i := range byTime {
		n := size(s.Classes[i])
		if fits[i] = n <= room; fits[i] {
			room -= n
		}
	}
	var kept []class.Class
	for i, c := range s.Classes {
		if fits[i] {
			kept = append(kept, c)
		} else {
			s.Rest.Classes++
			s.Rest.TimeSec += c.TimeSec
		}
	}
	if s.Classes = kept; s.Rest.Classes > 0 {
		s.Sources = append(s.Sources, source.Source{
			Name: source.Classes, State: source.Failed,
			Reason: fmt.Sprintf("not observed: %d classes of statements with %.3g s, which exceed the size limit",
				s.Rest.Classes, s.Rest.TimeSec),
		})
	}
	var left int
	if s.Series, left = thin(s.Series); left+lost > 0 {
		s.Sources = append(s.Sources, source.Source{
			Name: source.Series, State: source.Failed,
			Reason: fmt.Sprintf("not observed: %d series and %d figures, which exceed the size limit", left, lost),
		})
	}
}

// thin keeps every second point, and the last one, until the series have room; then it leaves whole ones out and counts
// them.
func thin(series []metric.Series) (kept []metric.Series, left int) {
	names, points := 0, 0
	sizes := make([]int, len(series))
	for i, x := range series {
		sizes[i] = len(x.Name) + size(x.Labels)
		names, points = names+sizes[i], points+len(x.Points)
	}
	for longer := true; longer && names+pointBytes*points > mostOfSeries; {
		longer = false
		for i := range series {
			p := series[i].Points
			if len(p) <= 2 {
				continue
			}
			longer = true
			half := make([]metric.Point, 0, len(p)/2+2)
			for j := 0; j < len(p)-1; j += 2 {
				half = append(half, p[j])
			}
			series[i].Points = append(half, p[len(p)-1])
			points -= len(p) - len(series[i].Points)
		}
	}
	room := mostOfSeries
	for i, x := range series {
		if n := sizes[i] + pointBytes*len(x.Points); n <= room {
			room -= n
			kept = append(kept, x)
		} else {
			left++
		}
	}
	return kept, left
}

// size returns how many bytes a value takes as JSON.
func size(x any) int {
	b, err := json.Marshal(x)
	if err != nil { // a number that JSON has no words for
		return math.MaxInt32
	}
	return len(b)
}

// Lean makes series small without taking away what judgement could conclude from them. One that stood still keeps its
// first and its last point: means, rates and last values stay what they are. What each source cost goes: the list of
// sources has it, and the sum stays.
func Lean(series []metric.Series) []metric.Series {
	series = slices.DeleteFunc(series, func(x metric.Series) bool {
		return len(x.Points) == 0 || strings.HasPrefix(x.Name, "dyno_source_") || x.Name == "dyno_scrape_success" ||
			x.Name == "dyno_scrape_duration_seconds"
	})
	for i := range series {
		if p := series[i].Points; len(p) > 2 && Still(series[i]) {
			series[i].Points = []metric.Point{p[0], p[len(p)-1]}
		}
	}
	return series
}

// Still reports whether all points of a series, which has some, have one value.
func Still(x metric.Series) bool {
	for _, p := range x.Points[1:] {
		if p.Value != x.Points[0].Value {
			return false
		}
	}
	return true
}
