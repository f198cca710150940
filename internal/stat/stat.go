// Package stat holds the statistics of comparisons. It never returns a bare mean: an Interval has
// its center, bounds, confidence and number of independent samples. It does no I/O.
//
// The independent sample of an experiment is the pair: one trial of the variant and one of its
// baseline in the same round, in random order. It gives one log-ratio. Seconds within a trial are
// neighbors in time and not samples.
//
// # Guarantees
//
// Rules, and with them a Sequence, are fixed before the first trial. An experiment may have any
// number of comparisons, be evaluated as often as its Sequence says, and be stopped by any rule.
// The probability that any comparison is called better or worse although there is no difference is
// then at most 1 - Rules.Confidence. The same bound holds for the probability that any comparison
// is called same although the difference is greater than the margin. How often a real difference is
// found is not guaranteed; TestPower tabulates it.
//
// # Method
//
//   - Evaluations ("looks"): each has its own part of 1 - Confidence (Schedule). The parts add up
//     to no more than the whole, so Bonferroni's inequality covers the looks, however they depend
//     on each other and whatever is decided at them.
//   - Comparisons: at each look Holm's procedure (A Simple Sequentially Rejective Multiple Test
//     Procedure, 1979) distributes the look's part, once for "there is no difference" and once for
//     "the difference is greater than the margin". Comparisons that earlier looks have decided no
//     longer count, which the closure principle allows (Marcus, Peritz and Gabriel, 1976; Maurer
//     and Bretz, Multiple Testing in Group Sequential Trials Using Graphical Approaches, 2013).
//   - Intervals: the interval shown with a comparison has the confidence of its Holm step, so it
//     always agrees with the verdict. The interval of better or worse excludes 1; the interval of
//     same is within the margin.
//   - Equivalence: "same" is decided by the two one-sided tests procedure (Schuirmann, A Comparison
//     of the Two One-Sided Tests Procedure and the Power Approach for Assessing the Equivalence of
//     Average Bioavailability, 1987). Its interval is within the margin and contains 1.
//   - Coverage: the final interval contains the true value in at least 95 % of cases, whatever rule
//     stopped the experiment. The one exception is a true value just at the margin, where the
//     choice between the two kinds of interval costs up to half as much again (92.5 %).
//   - Drift: trials of a round run in random order. One side may come first more often, which is
//     likely with three rounds; the effect that a steady drift can have had then widens the
//     interval.
//   - Levels: if the trials of one variant alternate between two very different levels, as when the
//     kernel places threads well or badly, they are reported as such (Groups). They make a
//     comparison unstable unless both levels agree.
//
// # What to expect
//
// Of experiments of 3 to 10 rounds, in percent, by the standard deviation of the log-ratio of a
// pair (TestPower; in brackets 3 to 20 rounds):
//
//	                          0.5 %       1 %         1.5 %       2 %         3 %
//	no difference: same       100 (100)   100 (100)   97 (100)    72 (99)     20 (67)
//	-1 %: same                100 (100)   85 (99)     54 (83)     37 (63)     13 (35)
//	-2 %: worse               70 (80)     66 (72)     57 (63)     52 (58)     39 (51)
//	-3 %: worse               100 (100)   100 (100)   99 (100)    95 (99)     73 (94)
//	-5 %: worse               100 (100)   100 (100)   100 (100)   100 (100)   100 (100)
//
// A difference equal to the margin is neither the same nor certainly more; most of the others are
// then unstable.
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
	Result Result   `json:"result"`
	Ratio  Interval `json:"ratio"`  // variant ÷ baseline, above 1 is better
	Margin float64  `json:"margin"` // ratios within 1 ± Margin count as the same
	Metric string   `json:"metric"` // "qps"
	// warnings that belong to the figure; for unstable and invalid what was broken
	Reasons []string `json:"reasons,omitempty"`
	// Withdrawn says that an unstable verdict is so because of the first of Reasons, whatever its interval says: the
	// values lie on several levels.
	Withdrawn bool `json:"withdrawn,omitzero"`

	// Confidence is what holds for all comparisons of the experiment and all looks at them together; Ratio.Confidence,
	// which is that of this one interval, is greater for that. 0 when nothing could be judged.
	Confidence float64 `json:"confidence,omitzero"`
	// Favour is the share of pairs in which the variant did better than its baseline, a tie counting half: 0.5 when
	// they are alike, 1 when it always won. It shows how visible a difference is in the noise, which the ratio does
	// not (the probability of superiority for paired samples; Grissom and Kim, Effect Sizes for Research, 2005).
	Favour float64 `json:"favour,omitzero"`
	// Adjusted is the probability of so great a difference by chance alone, corrected for looks and comparisons: what
	// is better or worse has at most 1 - Confidence. 1 when nothing could be judged.
	Adjusted float64 `json:"p_adjusted,omitzero"`
	// Closed is the number of rounds after which this verdict was final; 0 when more rounds could still change it.
	Closed int `json:"closed,omitzero"`
}
