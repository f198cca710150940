package report

import (
	"strconv"
	"time"

	"github.com/dyno-perf/dyno/internal/digest"
)

// digestCount writes a whole number with all its digits.
func digestCount(n uint64) string { return strconv.FormatUint(n, 10) }

// most is the largest of counts, 0 of none.
func most(counts []uint64) (top uint64) {
	for _, n := range counts {
		top = max(top, n)
	}
	return top
}

// squeezed sums neighbours until there are at most cols.
func squeezed(m digest.Minutes, cols int) digest.Minutes {
	if len(m.Counts) <= cols || cols <= 0 {
		return m
	}
	k := (len(m.Counts) + cols - 1) / cols
	out := digest.Minutes{Start: m.Start, StepSec: m.StepSec * float64(k), Counts: make([]uint64, 0, cols)}
	for i := 0; i < len(m.Counts); i += k {
		var n uint64
		for _, c := range m.Counts[i:min(i+k, len(m.Counts))] {
			n += c
		}
		out.Counts = append(out.Counts, n)
	}
	return out
}

// digestSpark draws counts in one row of characters, eight heights each; a step without any stays empty.
func digestSpark(counts []uint64) string {
	top := most(counts)
	row := make([]rune, len(counts))
	for i, c := range counts {
		row[i] = ' '
		if c > 0 {
			row[i] = []rune("▁▂▃▄▅▆▇█")[min(7, int(float64(c)/float64(top)*8))]
		}
	}
	return string(row)
}

// stepText writes the length of a step: "1 min", "2 h".
func stepText(sec float64) string {
	switch {
	case sec >= 86400 && sec == float64(int(sec/86400))*86400:
		return strconv.Itoa(int(sec/86400)) + " d"
	case sec >= 3600 && sec == float64(int(sec/3600))*3600:
		return strconv.Itoa(int(sec/3600)) + " h"
	case sec >= 60:
		return strconv.FormatFloat(sec/60, 'f', -1, 64) + " min"
	default:
		return strconv.FormatFloat(sec, 'f', -1, 64) + " s"
	}
}

// minutesEnd is when the last step ends.
func minutesEnd(m digest.Minutes) time.Time {
	return m.Start.Add(time.Duration(float64(len(m.Counts)) * m.StepSec * float64(time.Second)))
}

// sparkNote says what a row of digestSpark spans.
func sparkNote(m digest.Minutes) string {
	return digestRange(m.Start, minutesEnd(m)) + ", " + stepText(m.StepSec) + " each, at most " +
		digestCount(most(m.Counts))
}
