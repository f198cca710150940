// Package stat holds the statistics of comparisons. Nothing here returns a bare mean: an Interval carries its centre, bounds,
// confidence and number of independent samples.
package stat

// Interval is an estimate with its uncertainty.
type Interval struct {
	Center     float64 `json:"center"`
	Lo         float64 `json:"lo"`
	Hi         float64 `json:"hi"`
	N          int     `json:"n"`          // independent samples: pairs of windows, trials; never seconds of one run
	Confidence float64 `json:"confidence"` // 0 to 1, usually 0.95
	Unit       string  `json:"unit,omitzero"`
}

// Result is the answer of a comparison.
type Result string

const (
	Better   Result = "better"
	Worse    Result = "worse"
	Same     Result = "same"     // the whole interval lies within the margin
	Unstable Result = "unstable" // the interval allows better and worse, or the samples disagree too much
	Invalid  Result = "invalid"  // the measurement broke its own conditions, see Reasons
)

// Verdict is a comparison of a variant with its baseline.
type Verdict struct {
	Result  Result   `json:"result"`
	Ratio   Interval `json:"ratio"`             // variant ÷ baseline, above 1 is better
	Margin  float64  `json:"margin"`            // ratios within 1 ± Margin count as the same
	Metric  string   `json:"metric"`            // "qps"
	Reasons []string `json:"reasons,omitempty"` // warnings that belong to the figure; for invalid what was broken
}
