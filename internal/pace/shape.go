// Package pace computes when operations are due: a Shape is a rate over time, and Arrivals are
// times drawn from it. It reads no clock and does not wait; all times are offsets from the
// beginning of a run.
package pace

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// MaxRate is the highest rate that a Shape takes, in arrivals per second.
const MaxRate = 1e8

// Never is the offset of an arrival that does not come.
const Never = time.Duration(math.MaxInt64)

// Shape is a rate over time: parts one after the other, the last of which holds for good at the rate it ends with, and
// bursts on top of them. The zero Shape has no rate at all: a closed loop. Parse and Constant make the others. A Shape
// never changes.
type Shape struct {
	parts  []part
	bursts []burst
}

// part goes from one rate to another in a straight line.
type part struct {
	from, to float64       // arrivals per second
	length   time.Duration // 0 in a last part that holds for good
}

// burst adds arrivals for a while at the end of each period: the first begins at one period.
type burst struct {
	rate  float64
	every time.Duration
	long  time.Duration
}

// Constant returns a Shape of the same rate all the time, in arrivals per second: more than 0, at most MaxRate. Any
// other rate gives the zero Shape.
func Constant(rate float64) Shape {
	if !(rate > 0 && rate <= MaxRate) {
		return Shape{}
	}
	return Shape{parts: []part{{from: rate, to: rate}}}
}

// IsZero reports whether there is no rate: a closed loop.
func (s Shape) IsZero() bool { return len(s.parts) == 0 }

// Length returns when the last part that has a time of its own ends, 0 for a Shape that is the same all the time.
func (s Shape) Length() (d time.Duration) {
	for _, p := range s.parts {
		d += p.length
	}
	return d
}

// Rate returns the arrivals per second that are meant at an offset from the beginning.
func (s Shape) Rate(at time.Duration) float64 {
	if s.IsZero() {
		return 0
	}
	return s.piece(at).rate
}

// Expected returns the mean number of arrivals from the beginning to an offset.
func (s Shape) Expected(to time.Duration) (n float64) {
	if s.IsZero() {
		return 0
	}
	for at := time.Duration(0); at < to; {
		p := s.piece(at)
		end := min(p.end, to)
		x := (end - at).Seconds()
		n += x * (p.rate + p.slope*x/2)
		at = end
	}
	return n
}

// piece is a stretch of a Shape in which the rate is a straight line.
type piece struct {
	start, end  time.Duration
	rate, slope float64 // at the start, and its change per second
}

// piece returns the stretch from an offset to the next bend.
func (s Shape) piece(at time.Duration) piece {
	p := piece{start: at, end: Never}
	var begin time.Duration
	for i, x := range s.parts {
		last := i == len(s.parts)-1
		switch {
		case at < begin+x.length:
			p.slope = (x.to - x.from) / x.length.Seconds()
			p.rate = x.from + p.slope*(at-begin).Seconds()
			p.end = begin + x.length
		case last:
			p.rate = x.to
		default:
			begin += x.length
			continue
		}
		break
	}
	for _, b := range s.bursts {
		n := at / b.every // whole periods that have passed
		edge := Never
		if n >= 1 && at-n*b.every < b.long {
			p.rate += b.rate
			edge = n*b.every + b.long
		} else if n < Never/b.every-1 {
			edge = (n + 1) * b.every
		}
		p.end = min(p.end, edge)
	}
	return p
}

// String returns the Shape as Parse reads it, "0" for the zero Shape.
func (s Shape) String() string {
	if s.IsZero() {
		return "0"
	}
	var out []string
	for _, p := range s.parts {
		t := number(p.from)
		if p.to != p.from {
			t += ".." + number(p.to)
		}
		if p.length > 0 {
			t += "@" + p.length.String()
		}
		out = append(out, t)
	}
	for _, b := range s.bursts {
		out = append(out, "+"+number(b.rate)+"@"+b.every.String()+"/"+b.long.String())
	}
	return strings.Join(out, ",")
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
