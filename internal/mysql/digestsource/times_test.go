package digestsource

import (
	"database/sql/driver"
	"math"
	"testing"
)

// mysqlSteps has the limits that MySQL documents: 10 µs, then fifty to each power of ten.
func mysqlSteps() *steps {
	s := &steps{n: make([]uint64, 450)}
	for i := range s.n {
		s.limits = append(s.limits, 10e-6*math.Pow(10, float64(i)/50))
	}
	return s
}

func (s *steps) put(sec float64, n uint64) {
	for i, l := range s.limits {
		if sec < l {
			s.n[i] += n
			return
		}
	}
	s.n[len(s.n)-1] += n
}

func TestStepsTellTheDistribution(t *testing.T) {
	s := mysqlSteps()
	for i := 1; i <= 1000; i++ {
		s.put(float64(i)*1e-3, 1)
	}
	near := func(got, want, share float64) {
		t.Helper()
		if math.Abs(got-want) > share*want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	near(s.quantile(0.95), 0.95, 0.024)
	near(s.quantile(0.5), 0.5, 0.024)
	near(s.stddev(), 0.2888, 0.02)
	low, high := s.ends()
	near(low, 1e-3, 0.048)
	near(high, 1, 0.048)
	if low > 1e-3 || high < 1 {
		t.Errorf("%v to %v does not hold all", low, high)
	}
	d := s.decades()
	if d != [8]uint64{0, 0, 0, 9, 90, 900, 1, 0} {
		t.Errorf("%v", d)
	}
}

func TestStepsOfNothingAndOfExtremes(t *testing.T) {
	s := mysqlSteps()
	if low, high := s.ends(); s.quantile(0.95) != 0 || s.stddev() != 0 || s.count() != 0 || low != 0 || high != 0 {
		t.Error("nothing has a distribution")
	}
	s.put(1e-6, 3)
	s.put(1e6, 1)
	if d := s.decades(); d != [8]uint64{3, 0, 0, 0, 0, 0, 0, 1} {
		t.Errorf("%v", d)
	}
	if q := s.quantile(1); q < 9000 || math.IsInf(q, 0) {
		t.Errorf("the last step: %v", q)
	}
	if q := s.quantile(0.5); q <= 0 || q > 10e-6 {
		t.Errorf("the first step: %v", q)
	}
	s.row([]driver.Value{int64(9999), int64(5)}) // a step that was not announced
}

func TestStepsTake(t *testing.T) {
	a, b := mysqlSteps(), mysqlSteps()
	a.put(1, 5)
	b.put(1, 7)
	b.put(2, 1)
	if !b.take(a) || b.count() != 3 {
		t.Errorf("%d left", b.count())
	}
	c := mysqlSteps()
	c.put(3, 1)
	if a.take(c) {
		t.Error("more was taken than there was")
	}
	b.add(c)
	if b.count() != 4 {
		t.Errorf("%d", b.count())
	}
}
