package workload

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
)

// The distributions of sysbench, by the names of its --rand-type; zipfian is one of those that come after its release
// 1.0.20.
const (
	randSpecial  = "special"
	randUniform  = "uniform"
	randGaussian = "gaussian"
	randPareto   = "pareto"
	randZipfian  = "zipfian"
)

// randOptions are sysbench's options of its random numbers, which its programs all take; the seed is the run's.
func randOptions() []Option {
	return []Option{
		{Name: "rand-type", Type: Text, Default: randSpecial, Help: "how ids are chosen", Choices: []string{
			randSpecial,
			randUniform, randGaussian, randPareto, randZipfian,
		}},
		{Name: "rand-spec-iter", Type: Number, Default: "12", Max: 1000, Help: "special, gaussian: even draws that " +
			"make one bell-shaped"},
		{
			Name: "rand-spec-pct", Type: Number, Default: "1", Max: 100,
			Help: "special: percent of the rows that are hot",
		},
		{Name: "rand-spec-res", Type: Number, Default: "75", Max: 99, Help: "special: percent of the draws that go " +
			"to hot rows"},
		{Name: "rand-pareto-h", Type: Text, Default: "0.2", Help: "pareto: this share of the rows gets the rest of " +
			"the draws"},
		{Name: "rand-zipfian-exp", Type: Text, Default: "0.8", Help: "zipfian: row k is drawn in proportion to 1 / k " +
			"to this power; 0 is even"},
	}
}

// source is the stream of random numbers of one session.
type source struct {
	*rand.Rand
}

func newSource(seed, stream uint64) source { return source{rand.New(rand.NewPCG(seed, stream))} }

// distribution draws row numbers from 1 to n.
type distribution struct {
	kind string
	n    int
	// special and gaussian: how many uniform numbers make a bell.
	iterations int
	// special: of the even draws from 0 to 1, those below cold become a bell; the others are spread over width numbers
	// from first on.
	cold, first, width float64
	// pareto: the exponent that gives a share 1-h of the draws to the first share h of the numbers.
	power float64
	zipf  zipfian
}

// distribute settles a distribution over 1 to n.
func distribute(v Values, n int) (distribution, error) {
	d := distribution{kind: v.Text("rand-type"), n: n, iterations: v.Int("rand-spec-iter")}
	switch d.kind {
	case randSpecial:
		pct, res := v.Int("rand-spec-pct"), v.Int("rand-spec-res")
		if res >= 100 {
			return d, &OptionError{"rand-spec-res", v.Text("rand-spec-res"), "takes 0 to 99"}
		}
		if pct > 100 {
			return d, &OptionError{"rand-spec-pct", v.Text("rand-spec-pct"), "takes 0 to 100"}
		}
		// sysbench spreads the draw itself, of which the part below cold is gone, so that the hot numbers are those of
		// the upper 75 % of the middle 1 %.
		t := float64(n - 1)
		d.cold = 1 - float64(res)/100
		d.width = t*float64(pct)/100 + 1
		d.first = 1 + t/2 - t*float64(pct)/200
	case randPareto:
		h, err := parseShare(v.Text("rand-pareto-h"))
		if err != nil {
			return d, &OptionError{"rand-pareto-h", v.Text("rand-pareto-h"), err.Error()}
		}
		d.power = math.Log(h) / math.Log(1-h)
	case randZipfian:
		e, err := parseExponent(v.Text("rand-zipfian-exp"))
		if err != nil {
			return d, &OptionError{"rand-zipfian-exp", v.Text("rand-zipfian-exp"), err.Error()}
		}
		d.zipf = newZipfian(e, n)
	}
	if (d.kind == randSpecial || d.kind == randGaussian) && d.iterations < 1 {
		return d, &OptionError{"rand-spec-iter", v.Text("rand-spec-iter"), "takes a number from 1"}
	}
	return d, nil
}

// draw returns one number. It allocates nothing.
func (d *distribution) draw(s source) int {
	switch d.kind {
	case randSpecial:
		if u := s.Float64(); u >= d.cold {
			return max(1, min(d.n, int(d.first+u*d.width)))
		}
		return d.bell(s)
	case randGaussian:
		return d.bell(s)
	case randZipfian:
		return d.zipf.draw(s)
	case randPareto:
		return 1 + min(d.n-1, int(float64(d.n)*math.Pow(s.Float64(), d.power)))
	}
	return 1 + s.IntN(d.n)
}

// bell returns the mean of several even draws: by the central limit theorem nearly a normal distribution about the
// middle.
func (d *distribution) bell(s source) int {
	var sum float64
	for range d.iterations {
		sum += s.Float64()
	}
	return 1 + min(d.n-1, int(sum/float64(d.iterations)*float64(d.n)))
}

// note says of which part of the rows the figures will speak; "" when all rows are drawn alike.
func (d *distribution) note(v Values) string {
	hot, share := "", ""
	switch d.kind {
	case randSpecial:
		hot, share = "about "+v.Text("rand-spec-pct"), v.Text("rand-spec-res")
	case randPareto:
		h, _ := parseShare(v.Text("rand-pareto-h"))
		hot, share = percent(h), percent(1-h)
	case randZipfian:
		if d.zipf.e == 0 {
			return ""
		}
		hot, share = "1", percent(d.zipf.share(float64(d.n)/100))
	}
	if hot == "" || d.n < 2 {
		return ""
	}
	return fmt.Sprintf("rand-type is %s: %s %% of the draws go to %s %% of the rows, so that a cache "+
		"much smaller than the tables may seem enough; rand-type=uniform reaches every row alike", d.kind, share, hot)
}

// percent writes a share with two digits that count.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 2, 64) }

// digits overwrites dst with groups of eleven random digits joined by '-'.
func (s source) digits(dst []byte) {
	var pool uint64
	left := 0
	for i := range dst {
		if i%12 == 11 {
			dst[i] = '-'
			continue
		}
		if left == 0 {
			pool, left = s.Uint64N(1e18), 18
		}
		dst[i] = '0' + byte(pool%10)
		pool /= 10
		left--
	}
}

// parseShare reads a share between 0 and 1, both excluded.
func parseShare(s string) (float64, error) {
	h, err := strconv.ParseFloat(s, 64)
	if err != nil || !(h > 0 && h < 1) {
		return 0, errors.New("takes a number between 0 and 1")
	}
	return h, nil
}
