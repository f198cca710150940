package script

import (
	"bytes"
	"math"
	"strconv"

	"dyno/internal/workload"
)

func (x *literal) eval(*generator) (workload.Datum, error) { return x.value, nil }

func (x *reference) eval(g *generator) (workload.Datum, error) { return g.st.vars[x.variable], nil }

func (c *call) eval(g *generator) (workload.Datum, error) {
	g.left--
	return c.f.eval(c, g)
}

func (x *isNull) eval(g *generator) (workload.Datum, error) {
	v, err := x.x.eval(g)
	return boolean(v.IsNull() == x.want), err
}

func (x *unary) eval(g *generator) (workload.Datum, error) {
	v, err := x.x.eval(g)
	switch {
	case err != nil || v.IsNull():
		return v, err
	case x.not:
		return boolean(!truth(v)), nil
	}
	if n, ok := whole(v); ok && n != math.MinInt64 {
		return workload.Int(-n), nil
	}
	f, ok := float(v)
	if !ok {
		return v, x.at.errorf("", "%s is no number", v)
	}
	return workload.Float(-f), nil
}

func (x *operator) eval(g *generator) (workload.Datum, error) {
	g.left--
	a, err := x.x.eval(g)
	if err != nil {
		return a, err
	}
	switch x.sign {
	case "and":
		if !a.IsNull() && !truth(a) {
			return boolean(false), nil
		}
	case "or":
		if truth(a) {
			return boolean(true), nil
		}
	}
	b, err := x.y.eval(g)
	if err != nil {
		return b, err
	}
	switch x.sign {
	case "and", "or":
		switch decides := x.sign == "or"; {
		case !b.IsNull() && truth(b) == decides:
			return boolean(decides), nil
		case a.IsNull() || b.IsNull():
			return workload.Datum{}, nil
		default:
			return boolean(!decides), nil
		}
	}
	if a.IsNull() || b.IsNull() {
		return workload.Datum{}, nil
	}
	switch x.sign {
	case "+", "-", "*", "/", "%":
		return x.arithmetic(a, b)
	}
	c, ok := compare(a, b)
	if !ok { // with a NaN
		return boolean(x.sign == "<>" || x.sign == "!="), nil
	}
	switch x.sign {
	case "=", "==":
		return boolean(c == 0), nil
	case "<>", "!=":
		return boolean(c != 0), nil
	case "<":
		return boolean(c < 0), nil
	case "<=":
		return boolean(c <= 0), nil
	case ">":
		return boolean(c > 0), nil
	}
	return boolean(c >= 0), nil
}

func (x *operator) arithmetic(a, b workload.Datum) (workload.Datum, error) {
	if m, ok := whole(a); ok {
		if n, ok := whole(b); ok {
			return x.integers(m, n)
		}
	}
	m, ok := float(a)
	if !ok {
		return a, x.at.errorf("", "%s is no number", quotedBrief(a))
	}
	n, ok := float(b)
	if !ok {
		return b, x.at.errorf("", "%s is no number", quotedBrief(b))
	}
	switch x.sign {
	case "+":
		m += n
	case "-":
		m -= n
	case "*":
		m *= n
	case "/", "%":
		if n == 0 {
			return a, x.at.errorf("", "division by 0")
		}
		if x.sign == "/" {
			m /= n
		} else {
			m = math.Mod(m, n)
		}
	}
	if math.IsInf(m, 0) || math.IsNaN(m) {
		return a, x.at.errorf("", "the result of %s is too large", x.sign)
	}
	return workload.Float(m), nil
}

// integers calculates with whole numbers: 7 / 2 is 3, as in pgbench.
func (x *operator) integers(m, n int64) (workload.Datum, error) {
	var r int64
	var fits bool
	switch x.sign {
	case "+":
		r = m + n
		fits = (r > m) == (n > 0)
	case "-":
		r = m - n
		fits = (r < m) == (n > 0)
	case "*":
		r = m * n
		fits = m == 0 || r/m == n && !(m == -1 && n == math.MinInt64)
	default:
		if n == 0 {
			return workload.Datum{}, x.at.errorf("", "division by 0")
		}
		fits = !(m == math.MinInt64 && n == -1)
		if fits && x.sign == "/" {
			r = m / n
		} else if fits {
			r = m % n
		}
	}
	if !fits {
		return workload.Datum{}, x.at.errorf("", "the result of %d %s %d is too large", m, x.sign, n)
	}
	return workload.Int(r), nil
}

func boolean(yes bool) workload.Datum {
	if yes {
		return workload.Int(1)
	}
	return workload.Int(0)
}

// whole returns d when it is a whole number, also one that a server wrote as text.
func whole(d workload.Datum) (int64, bool) {
	switch d.Kind() {
	case workload.IntDatum:
		return int64(d.Bits()), true
	case workload.UintDatum:
		return int64(d.Bits()), d.Bits() <= math.MaxInt64
	case workload.BytesDatum:
		if b := d.Raw(); len(b) > 0 && len(b) < 19 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9') {
			n, err := strconv.ParseInt(string(b), 10, 64) // copies nothing: the text does not outlive the call
			return n, err == nil
		}
	default:
	}
	return 0, false
}

// float returns d as a number, also one that a server wrote as text, such as a DECIMAL.
func float(d workload.Datum) (float64, bool) {
	switch d.Kind() {
	case workload.FloatDatum:
		return math.Float64frombits(d.Bits()), true
	case workload.UintDatum:
		return float64(d.Bits()), true
	case workload.BytesDatum:
		b := d.Raw()
		if len(b) == 0 || len(b) > 100 || b[0] != '-' && b[0] != '.' && (b[0] < '0' || b[0] > '9') {
			return 0, false
		}
		f, err := strconv.ParseFloat(string(b), 64)
		return f, err == nil
	case workload.NullDatum:
		return 0, false
	default:
	}
	n, ok := whole(d)
	return float64(n), ok
}

// truth reports whether d counts as true: a number but 0. NULL and other texts do not.
func truth(d workload.Datum) bool {
	f, ok := float(d)
	return ok && f != 0
}

// compare orders two values: numbers by size, everything else by bytes. It reports false when there is no order.
func compare(a, b workload.Datum) (int, bool) {
	if m, ok := whole(a); ok {
		if n, ok := whole(b); ok {
			switch {
			case m < n:
				return -1, true
			case m > n:
				return 1, true
			}
			return 0, true
		}
	}
	m, aok := float(a)
	n, bok := float(b)
	switch {
	case aok && bok && m < n:
		return -1, true
	case aok && bok && m > n:
		return 1, true
	case aok && bok:
		return 0, m == n
	case a.Kind() == workload.BytesDatum && b.Kind() == workload.BytesDatum:
		return bytes.Compare(a.Raw(), b.Raw()), true
	case aok: // numbers come before texts
		return -1, true
	}
	return 1, true
}

// quotedBrief shows a value in a message.
func quotedBrief(d workload.Datum) string {
	if d.Kind() == workload.BytesDatum {
		return strconv.Quote(brief(d.String()))
	}
	return d.String()
}
