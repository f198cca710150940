// Package stat holds the statistics of comparisons. Nothing here returns a bare mean: an Interval carries its centre, bounds,
// confidence and number of independent samples.
//
// The independent sample of an experiment is the pair: one trial of the variant and one of its baseline in the same round, whose
// order is random; it gives one log-ratio. Seconds within a trial are neighbours in time and no samples.
//
// # What is promised
//
// Rules, and with them a Sequence, are decided before the first trial. In an experiment of any number of comparisons, looked at
// as often as its Sequence says and stopped by whatever rule, the probability that any comparison at all is called better or worse
// although there is no difference is at most 1 - Rules.Confidence; and so is the probability that any is called same although the
// difference is greater than the margin. How often a real difference is found is not promised but tabled, in TestPower.
//
// # How it is kept
//
//   - Looks: each has a part of 1 - Confidence for its own (Schedule); parts add up to no more than the whole, so Bonferroni's inequality
//     covers the looks however they depend on each other and whatever is decided at them.
//   - Comparisons: at each look Holm's procedure (A Simple Sequentially Rejective Multiple Test Procedure, 1979) shares out the look's part,
//     once for "there is no difference" and once for "the difference is greater than the margin". Comparisons that earlier looks have
//     settled no longer count, which the closure principle allows (Marcus, Peritz and Gabriel, 1976; Maurer and Bretz, Multiple Testing in
//     Group Sequential Trials Using Graphical Approaches, 2013).
//   - Intervals: the one shown with a comparison is of the confidence that Holm's step gave it, so that it always agrees with the verdict: what is
//     better or worse has an interval without 1, what is the same has an interval within the margin.
//   - Equivalence: "same" is decided by the two one-sided tests procedure (Schuirmann, A Comparison of the Two One-Sided Tests Procedure and
//     the Power Approach for Assessing the Equivalence of Average Bioavailability, 1987). Its interval is within the margin and holds 1.
//   - Coverage: in the end the interval shown holds the truth in at least 95 %, whatever rule stopped the experiment. The one exception is a truth
//     that lies just at the margin, where the choice between the two kinds of interval costs up to half as much again (92.5 %).
//   - Drift: trials of a round come in random order. What a steady drift can have added where one side came first more often, which with
//     three rounds is likely, widens the interval.
//   - Levels: trials of one variant that are now on one level and now on quite another, as when the kernel places threads well or badly, are told
//     as such (Groups), and make a comparison unstable unless both levels say the same.
//
// # What to expect
//
// Of experiments of 3 to 10 rounds, in percent, by the standard deviation of the log-ratio of a pair (TestPower; in brackets 3 to 20 rounds):
//
//	                          0.5 %       1 %         1.5 %       2 %         3 %
//	no difference: same       100 (100)   100 (100)   97 (100)    72 (99)     20 (67)
//	-1 %: same                100 (100)   85 (99)     54 (83)     37 (63)     13 (35)
//	-2 %: worse               70 (80)     66 (72)     57 (63)     52 (58)     39 (51)
//	-3 %: worse               100 (100)   100 (100)   99 (100)    95 (99)     73 (94)
//	-5 %: worse               100 (100)   100 (100)   100 (100)   100 (100)   100 (100)
//
// A difference of just the margin is neither the same nor for sure more; most of the others are unstable then.
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
	Reasons []string `json:"reasons,omitempty"` // warnings that belong to the figure; for unstable and invalid what was broken
	// Withdrawn says that an unstable verdict is so because of the first of Reasons, whatever its interval says: the values lie on several levels.
	Withdrawn bool `json:"withdrawn,omitzero"`

	// Confidence is what holds for all comparisons of the experiment and all looks at them together; Ratio.Confidence, which is that
	// of this one interval, is greater for that. 0 when nothing could be judged.
	Confidence float64 `json:"confidence,omitzero"`
	// Favour is the share of pairs in which the variant did better than its baseline, a tie counting half: 0.5 when they are alike, 1
	// when it always won. It tells how visible a difference is beside the noise, which the ratio does not (the probability of
	// superiority for paired samples; Grissom and Kim, Effect Sizes for Research, 2005).
	Favour float64 `json:"favour,omitzero"`
	// Adjusted is the probability of so great a difference by chance alone, corrected for looks and comparisons: what is better or worse
	// has at most 1 - Confidence. 1 when nothing could be judged.
	Adjusted float64 `json:"p_adjusted,omitzero"`
	// Closed is the number of rounds after which this verdict was final; 0 when more rounds could still change it.
	Closed int `json:"closed,omitzero"`
}
