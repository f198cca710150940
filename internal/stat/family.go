package stat

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// minPairs is the smallest number of pairs of which anything is said.
const minPairs = 3

const (
	manyPairs = 20 // of all comparisons, from which on their levels are looked at together
	farOff    = 8  // robust standard deviations that a pair lies off its level
)

// JudgeAll judges the comparisons of one experiment. Each is the pairs of one variant in order of time; a pair belongs
// to its Round, or to the round of its place when that is 0. It goes through the looks of the Sequence as the
// experiment did: what was decided and Tight at a look is closed there and keeps its verdict, whatever is measured
// later. The others have the verdict of the last look.
//
// An experiment that ended between two looks, because its budget was spent or somebody stopped it, is judged with what
// had been set aside for the next look. That is fair as long as the end did not depend on the ratios, which nobody saw
// since the look before.
//
// Futility is not judged: a comparison that more rounds can hardly decide goes on to the last look.
func JudgeAll(comparisons [][]Pair, r Rules) []Verdict {
	r = r.withDefaults()
	f := family{
		rules: r, of: max(r.Family, len(comparisons)), out: make([]Verdict, len(comparisons)),
		samples: make([]sample, len(comparisons)),
	}
	rounds := r.Rounds
	f.comparisons = numbered(comparisons)
	if r.Rounds == 0 {
		for _, ps := range f.comparisons {
			for _, p := range ps {
				rounds = max(rounds, p.Round)
			}
		}
	}
	f.run(rounds)
	for i := range f.out {
		if f.out[i].Result != Invalid {
			r.doubts(&f.out[i], f.samples[i])
		}
	}
	return f.out
}

// numbered gives pairs without a round that of their place.
func numbered(comparisons [][]Pair) (out [][]Pair) {
	for _, ps := range comparisons {
		ps = slices.Clone(ps)
		for i := range ps {
			if ps[i].Round == 0 {
				ps[i].Round = i + 1
			}
		}
		out = append(out, ps)
	}
	return out
}

// run goes through the looks that so many rounds allow.
func (f *family) run(rounds int) {
	r := f.rules
	if r.Sequence == nil {
		f.look(math.MaxInt, 1-r.Confidence, false)
		return
	}
	reached := false
	for i, n := range r.Sequence.Looks {
		if n > rounds {
			if !reached || rounds > r.Sequence.Looks[i-1] {
				f.look(math.MaxInt, r.Sequence.Alpha[i], false)
			}
			return
		}
		f.look(n, r.Sequence.Alpha[i], true)
		reached = true
	}
	for i := range f.out { // the last look is final for all
		if f.out[i].Closed == 0 {
			f.out[i].Closed = r.Sequence.Looks[len(r.Sequence.Looks)-1]
		}
	}
}

type family struct {
	rules       Rules
	of          int
	comparisons [][]Pair
	out         []Verdict
	samples     []sample // of the look that each was judged at last
}

// look judges all comparisons that are not closed with the pairs of the first rounds.
func (f *family) look(rounds int, alpha float64, closes bool) {
	if f.rules.PairsAt != nil {
		f.comparisons = numbered(f.rules.PairsAt(rounds))
	}
	differ, alike := f.of, f.of // comparisons that each of Holm's two procedures still counts
	var open []int
	for i, v := range f.out {
		if v.Closed != 0 {
			switch v.Result {
			case Better, Worse:
				differ--
			case Same:
				alike--
			case Unstable, Invalid: // never closed
			}
			continue
		}
		var ps []Pair
		for _, p := range f.comparisons[i] {
			if p.Round <= rounds {
				ps = append(ps, p)
			}
		}
		s, v := f.rules.prepare(ps)
		f.out[i] = v
		if v.Result == Invalid {
			continue
		}
		s.choose(alpha / float64(f.of))
		f.samples[i] = s
		open = append(open, i)
	}
	f.rules.settle(f.out, f.samples, open, alpha, differ, alike)
	off, pairs := f.offLevel(rounds)
	for _, i := range open {
		v := &f.out[i]
		v.Favour = f.samples[i].favour()
		f.rules.levels(v, f.samples[i].ds)
		f.chance(v, alpha, off, pairs)
		if closes && v.Tight(f.rules.Margin) {
			v.Closed = rounds
		}
	}
}

// levels takes back a verdict whose pairs fall into groups far apart, unless all of them say the same.
func (r Rules) levels(v *Verdict, ds []float64) {
	margin := math.Log1p(r.Margin)
	groups, ok := Groups(ds, 2*margin)
	if !ok {
		return
	}
	var parts []string
	above, below := true, true
	for _, g := range groups {
		ratio := math.Exp(g.Center)
		parts = append(parts, fmt.Sprintf("%d near %s", g.N, factor(ratio)))
		above, below = above && g.Center > margin, below && g.Center < -margin
	}
	what := "the pairs fall into groups far apart: " + strings.Join(parts, ", ")
	switch {
	case v.Result == Better && above || v.Result == Worse && below:
		v.Reasons = append(v.Reasons, what+". All of them say the same")
	default:
		v.Result, v.Withdrawn = Unstable, true
		v.Reasons = append([]string{what + ". Something else than the variants switches between them, such as where " +
			"the kernel places threads"}, v.Reasons...)
	}
}

func factor(x float64) string { return "×" + strconv.FormatFloat(x, 'f', 2, 64) }

// offLevel counts the pairs of all comparisons that lie far from the middle of their own.
func (f *family) offLevel(rounds int) (off, pairs int) {
	var deviations []float64
	for _, ps := range f.comparisons {
		var good []Pair
		for _, p := range ps {
			if p.Invalid == "" && p.Round <= rounds {
				good = append(good, p)
			}
		}
		ds, err := logRatios(good)
		if err != nil {
			continue
		}
		m := Median(ds)
		for _, d := range ds {
			deviations = append(deviations, math.Abs(d-m))
		}
	}
	if len(deviations) < manyPairs {
		return 0, 0
	}
	far := max(2*math.Log1p(f.rules.Margin), farOff*1.4826*Median(deviations))
	for _, d := range deviations {
		if d > far {
			off++
		}
	}
	return off, len(deviations)
}

// chance takes back better and worse when the pairs of the whole experiment show that trials are now and then on quite
// another level, so often that in one of the comparisons all pairs may lie there: agreement of a few pairs then proves
// nothing, however narrow their interval.
func (f *family) chance(v *Verdict, alpha float64, off, pairs int) {
	if off < 2 || v.Result != Better && v.Result != Worse {
		return
	}
	if all := float64(f.of) * math.Pow(float64(off+1)/float64(pairs), float64(v.Ratio.N)); all > alpha {
		v.Result, v.Withdrawn = Unstable, true
		v.Reasons = append([]string{fmt.Sprintf("%d of the experiment's %d pairs lie far from the others of their "+
			"variant: %d pairs are too few to be sure that not all of these do", off, pairs, v.Ratio.N)}, v.Reasons...)
	}
}

// settle gives each open comparison its interval, result and adjusted probability. Differ and alike are how many
// comparisons each of Holm's two procedures still counts.
func (r Rules) settle(out []Verdict, samples []sample, open []int, alpha float64, differ, alike int) {
	margin := math.Log1p(r.Margin)
	dLevels, dAdjusted, dLeft := holm(open, alpha, differ, func(i int) float64 { return samples[i].differs() })
	eLevels, _, eLeft := holm(open, alpha, alike, func(i int) float64 { return samples[i].alike(margin) })
	for _, i := range open {
		v, s := &out[i], &samples[i]
		switch a, same := eLevels[i]; {
		case same:
			v.Ratio = s.equal(a, margin)
		default:
			level, ok := dLevels[i]
			if !ok {
				level = min(dLeft, eLeft)
			}
			v.Ratio = s.ratio(1 - level)
			if r.decide(v.Ratio) == Same {
				// at a level that is left for differences; to be the same it was not rejected at the one left for that
				v.Ratio = s.ratio(1 - min(level, eLeft))
			}
		}
		v.Result = r.decide(v.Ratio)
		v.Confidence = r.Confidence
		v.Adjusted = min(1, dAdjusted[i]*(1-r.Confidence)/alpha)
	}
}

// holm returns the level at which each hypothesis is rejected, the adjusted probabilities, and the level that the first
// not rejected one failed at. Of is how many there are; those not in ids are taken for true.
func holm(ids []int, alpha float64, of int, p func(int) float64) (levels, adjusted map[int]float64, left float64) {
	type one struct {
		id int
		p  float64
	}
	all := make([]one, 0, len(ids))
	for _, i := range ids {
		all = append(all, one{i, p(i)})
	}
	slices.SortStableFunc(all, func(a, b one) int {
		switch {
		case a.p < b.p:
			return -1
		case a.p > b.p:
			return 1
		}
		return 0
	})
	levels, adjusted = map[int]float64{}, map[int]float64{}
	left, most, stopped := alpha/float64(max(of, 1)), 0.0, false
	for k, h := range all {
		m := float64(max(of-k, 1))
		most = max(most, min(1, h.p*m))
		adjusted[h.id] = most
		if stopped {
			continue
		}
		left = alpha / m
		if h.p > left {
			stopped = true
			continue
		}
		levels[h.id] = left
	}
	return levels, adjusted, left
}

// Tight reports whether the verdict is decided and its interval so narrow that more rounds would add nothing that
// matters: its half-width, as a factor, is within the margin or a tenth of the effect.
func (v Verdict) Tight(margin float64) bool {
	if v.Result != Better && v.Result != Worse && v.Result != Same || !(v.Ratio.Lo > 0) {
		return false
	}
	half := math.Log(v.Ratio.Hi/v.Ratio.Lo) / 2
	return half <= max(math.Log1p(margin), math.Abs(math.Log(v.Ratio.Center))/10)
}

// sample is the log-ratios of one comparison, and the method by which it is judged.
type sample struct {
	pairs []Pair
	ds    []float64
	drift float64   // what a drift of the machine may have added to the centre, see allow
	rank  bool      // Wilcoxon's; Student's otherwise
	walsh []float64 // averages of all pairs of ds, sorted; for rank
	// For Student's: centre, its standard error, degrees of freedom.
	m, se, df float64
	// Of an unpaired sample: standard error and degrees of freedom if both sides spread alike; the trials of the side
	// that has fewer.
	se2, df2 float64
	least    int
}

// choose settles the method: Wilcoxon's when it reaches the strictest level that may be asked for with both ends beyond
// the n averages that a single value is part of, so that one wild pair does not move them (from twelve pairs on, at 95
// %); Student's otherwise, which has more power then. That depends on numbers alone, not on what was measured.
func (s *sample) choose(strictest float64) {
	n := len(s.ds)
	s.drift = allow(s.pairs)
	s.rank = n >= walshMin && n <= 300 && signedRank(n, 1-strictest) > n
	if s.rank {
		s.walsh = walsh(s.ds)
		return
	}
	m, sd := mean(s.ds)
	s.m, s.se, s.df = m, sd/math.Sqrt(float64(n)), float64(n-1)
}

// allow bounds what a steady drift of the machine can have added to the mean log-ratio. The random order of a round
// makes it noise like any other, but with few rounds it happens that one side came first nearly always: with three in a
// quarter of all experiments. The drift per round is that of the level of the pairs; no two trials of a round are
// further apart than that, and what is balanced cancels.
func allow(pairs []Pair) float64 {
	if len(pairs) < minPairs {
		return 0
	}
	levels := make([]float64, len(pairs))
	first := 0
	for i, p := range pairs {
		levels[i] = (math.Log(p.Baseline) + math.Log(p.Variant)) / 2
		first += 2*b2i(p.VariantFirst) - 1
	}
	_, slope, _ := line(levels)
	return math.Abs(slope*float64(first)) / float64(len(pairs))
}

// interval returns the centre of the log-ratios and its interval, in which a drift of the machine is allowed for.
func (s *sample) interval(confidence float64) (center, lo, hi float64) {
	if s.rank {
		k := signedRank(len(s.ds), confidence)
		return Median(s.walsh), s.walsh[k-1] - s.drift, s.walsh[len(s.walsh)-k] + s.drift
	}
	h := 0.0
	if s.se > 0 {
		h = studentQuantile(confidence, s.df) * s.se
	}
	if s.se2 > 0 {
		h = max(h, studentQuantile(confidence, s.df2)*s.se2)
	}
	return s.m, s.m - h - s.drift, s.m + h + s.drift
}

func (s *sample) ratio(confidence float64) Interval {
	c, lo, hi := s.interval(confidence)
	return Interval{Center: exp(c), Lo: exp(lo), Hi: exp(hi), N: s.n(), Confidence: confidence}
}

// equal returns the interval of what is the same, of confidence 1 - alpha: the usual one when it lies within ± margin,
// otherwise that of the two one-sided tests, stretched to hold 0 (Hsu, Hwang, Liu and Ruberg, Confidence Intervals
// Associated with Tests for Bioequivalence, 1994). Stretching is what gives it that confidence although each of its
// sides is a one-sided one.
func (s *sample) equal(alpha, margin float64) Interval {
	if _, lo, hi := s.interval(1 - alpha); lo >= -margin && hi <= margin {
		return s.ratio(1 - alpha)
	}
	x := s.ratio(1 - 2*alpha)
	x.Lo, x.Hi, x.Confidence = min(x.Lo, 1), max(x.Hi, 1), 1-alpha
	return x
}

// differs returns the smallest 1 - confidence whose interval does not hold 0.
func (s *sample) differs() float64 {
	if s.rank {
		below, above := 0, 0
		for _, w := range s.walsh {
			if w <= s.drift {
				below++
			}
			if w >= -s.drift {
				above++
			}
		}
		return rankTail(len(s.ds), min(below, above))
	}
	return s.student(math.Abs(s.m) - s.drift)
}

// alike returns the smallest error rate of the two one-sided tests at which the interval lies within ± margin: that
// interval has a confidence of 1 less twice the rate.
func (s *sample) alike(margin float64) float64 {
	margin -= s.drift
	if s.rank {
		below, above := 0, 0
		for _, w := range s.walsh {
			if w < -margin {
				below++
			}
			if w > margin {
				above++
			}
		}
		return rankTail(len(s.ds), max(below, above)) / 2
	}
	return s.student(margin-math.Abs(s.m)) / 2
}

// student returns the probability of a mean that lies so far from the truth.
func (s *sample) student(by float64) float64 {
	switch {
	case by <= 0:
		return 1
	case s.se == 0:
		return 0
	}
	p := beyond(by/s.se, s.df)
	if s.se2 > 0 {
		p = max(p, beyond(by/s.se2, s.df2))
	}
	return p
}

// n returns the number of independent samples.
func (s *sample) n() int {
	if s.least > 0 {
		return s.least
	}
	return len(s.ds)
}

// favour returns the share of pairs above 1.
func (s *sample) favour() float64 {
	won := 0.0
	for _, d := range s.ds {
		switch {
		case d > 0:
			won++
		case d == 0:
			won += 0.5
		}
	}
	return won / float64(len(s.ds))
}

// prepare drops what does not count and returns the sample, or a verdict that is invalid.
func (r Rules) prepare(pairs []Pair) (sample, Verdict) {
	v := Verdict{Result: Invalid, Margin: r.Margin, Metric: r.Metric, Adjusted: 1}
	warn := func(format string, args ...any) { v.Reasons = append(v.Reasons, fmt.Sprintf(format, args...)) }
	var s sample
	for i, p := range pairs {
		if p.Invalid != "" {
			n := i + 1
			if p.Round != 0 {
				n = p.Round
			}
			warn("pair %d does not count: %s", n, p.Invalid)
			continue
		}
		if r.LowerIsBetter {
			p.Baseline, p.Variant, p.VariantFirst = p.Variant, p.Baseline, !p.VariantFirst
		}
		s.pairs = append(s.pairs, p)
	}
	good := len(s.pairs)
	if lost := len(pairs) - good; 3*lost > len(pairs) && good >= minPairs {
		warn("%d of %d pairs do not count: the rest is not a fair sample", lost, len(pairs))
		return s, v
	}
	var err error
	if s.ds, err = logRatios(s.pairs); err != nil {
		warn("%v", err)
		return s, v
	}
	v.Result = Unstable
	return s, v
}

func (r Rules) withDefaults() Rules {
	if r.Margin == 0 {
		r.Margin = DefaultMargin
	}
	if r.Confidence == 0 {
		r.Confidence = DefaultConfidence
	}
	return r
}
