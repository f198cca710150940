package cli

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/dyno-perf/dyno/internal/hist"
)

// The buckets of sysbench's latency histogram: their number, and the range that they divide evenly on a logarithmic
// scale.
const (
	histogramBuckets = 1024
	histogramLowest  = 0.001  // ms
	histogramHighest = 100000 // ms
	histogramWidth   = 40     // characters of the longest bar
)

// sysbenchHistogram prints latencies in the layout of sysbench's --histogram. What lies outside of its range is counted
// in the first and the last bucket.
func sysbenchHistogram(w io.Writer, h *hist.Histogram) {
	step := (math.Log(histogramHighest) - math.Log(histogramLowest)) / (histogramBuckets - 1)
	var counts [histogramBuckets]uint64
	var most uint64
	for _, b := range h.Bars() {
		middle := ms(b.From+b.To) / 2
		i := int(math.Floor((math.Log(max(middle, histogramLowest))-math.Log(histogramLowest))/step + 0.5))
		i = min(i, histogramBuckets-1)
		counts[i] += b.Count
		most = max(most, counts[i])
	}
	if n := h.Over(); n > 0 {
		counts[histogramBuckets-1] += n
		most = max(most, counts[histogramBuckets-1])
	}
	fmt.Fprintf(w, "Latency histogram (values are in milliseconds)\n       value  ------------- distribution "+
		"------------- count\n")
	for i, n := range counts {
		if n == 0 {
			continue
		}
		stars := int(math.Floor(float64(n)*histogramWidth/float64(most) + 0.5))
		fmt.Fprintf(w, "%12.3f |%-*s %d\n", histogramLowest*math.Exp(float64(i)*step), histogramWidth,
			strings.Repeat("*", stars), n)
	}
	fmt.Fprintln(w, " ")
}
