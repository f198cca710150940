package stat

import "math"

// Stability is how even the seconds within trials are. Seconds of one trial are not independent: this describes, it
// proves nothing.
type Stability struct {
	Seconds int     `json:"seconds"` // how many there were, of all valid trials
	Median  float64 `json:"median"`  // operations per second of the middle second
	// the 5th percentile of the seconds ÷ the median of their trial, 1 is perfectly even
	Low    float64 `json:"low"`
	CV     float64 `json:"cv"`     // standard deviation ÷ mean within trials
	Stalls int     `json:"stalls"` // seconds below a tenth of the median of their trial
}

// Steady describes the seconds of trials, each its operations per second. Trials that differ in level do not make it
// uneven: each second is set against its own trial.
func Steady(trials [][]float64) Stability {
	var s Stability
	var all, shares []float64
	squares, freedom := 0.0, 0
	for _, xs := range trials {
		if len(xs) == 0 {
			continue
		}
		all = append(all, xs...)
		if med := Median(xs); med > 0 {
			for _, x := range xs {
				shares = append(shares, x/med)
				if x < med/10 {
					s.Stalls++
				}
			}
		}
		if len(xs) < 2 {
			continue
		}
		if m, sd := mean(xs); m > 0 {
			squares += float64(len(xs)-1) * (sd / m) * (sd / m)
			freedom += len(xs) - 1
		}
	}
	s.Seconds = len(all)
	if s.Seconds == 0 {
		return s
	}
	s.Median = Median(all)
	if len(shares) > 0 {
		s.Low = Quantile(shares, 0.05)
	}
	if freedom > 0 {
		s.CV = math.Sqrt(squares / float64(freedom))
	}
	return s
}
