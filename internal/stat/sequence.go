package stat

import "math"

// Sequence is the rule by which an experiment is looked at while it runs. It is decided before the first trial.
type Sequence struct {
	// numbers of rounds after which the comparisons are judged, rising; the last is the most there are
	Looks []int     `json:"looks"`
	Alpha []float64 `json:"alpha"` // the part of 1 - confidence that each look may spend
}

// growth is about how much later each look comes than the one before; power how fast what may be spent grows with the
// rounds.
const (
	growth = 1.75
	power  = 3
)

// Schedule plans looks from min rounds (at least 3) to max, each about three quarters later than the one before: 3, 6
// and 10 for 3 to 10 rounds. What may be spent by n rounds is (1 - confidence)·(n/max)³, of the power family of
// spending functions (Kim and DeMets, Design and Analysis of Group Sequential Tests Based on the Type I Error Spending
// Rate Function, 1987): early looks are for large differences only, and the last one keeps most. A confidence of 0
// means DefaultConfidence.
func Schedule(min, max int, confidence float64) Sequence {
	if confidence == 0 {
		confidence = DefaultConfidence
	}
	if min < minPairs {
		min = minPairs
	}
	if max < min {
		max = min
	}
	var s Sequence
	steps := math.Round(math.Log(float64(max)/float64(min)) / math.Log(growth))
	if max > min && steps < 1 {
		steps = 1
	}
	spent := 0.0
	for i := 0.0; i <= steps; i++ {
		n := max
		if i < steps {
			n = int(math.Ceil(float64(min)*math.Pow(float64(max)/float64(min), i/steps) - 1e-9))
		}
		if k := len(s.Looks); k > 0 && n <= s.Looks[k-1] {
			continue
		}
		all := (1 - confidence) * math.Pow(float64(n)/float64(max), power)
		s.Looks, s.Alpha = append(s.Looks, n), append(s.Alpha, all-spent)
		spent = all
	}
	return s
}

// Next returns the rounds of the first look after so many, false when there is none.
func (s Sequence) Next(rounds int) (int, bool) {
	for _, n := range s.Looks {
		if n > rounds {
			return n, true
		}
	}
	return 0, false
}
