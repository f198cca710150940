package pace

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Grammar tells in one line what Parse takes.
const Grammar = "N a second; N@TIME for so long; N..M@TIME rising or falling; +N@EVERY/LONG bursts; several with " +
	"commas between, the last one continues"

// Error tells what is wrong with the text of a Shape, and where.
type Error struct {
	Text   string
	Column int // from 1, in bytes
	Reason string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%q, column %d: %s", e.Text, e.Column, e.Reason)
}

// maxParts is more than a person types.
const maxParts = 10_000

// Parse reads a Shape: parts with commas between, such as
//
//	500                       500 arrivals a second
//	100..2000@60s             from 100 to 2000 within 60 s, 2000 from then on
//	500@30s,1000@30s,200      steps
//	500,+2000@10s/1s          500, and 2000 more for one second every ten seconds
//
// A rate takes K and M for thousands and millions; a time is one of Go's, such as 1m30s, or a number of seconds. "0"
// and "" are the zero Shape: no rate. Every error is an *Error.
func Parse(text string) (Shape, error) {
	var s Shape
	if t := strings.TrimSpace(text); t == "" || t == "0" {
		return s, nil
	}
	column := 1
	bad := func(at int, format string, a ...any) (Shape, error) {
		return Shape{}, &Error{Text: text, Column: at, Reason: fmt.Sprintf(format, a...)}
	}
	fields := strings.Split(text, ",")
	if len(fields) > maxParts {
		return bad(1, "%d parts: takes at most %d", len(fields), maxParts)
	}
	open := 0 // column of a part that holds for good
	for _, field := range fields {
		at := column + len(field) - len(strings.TrimLeft(field, " "))
		column += len(field) + 1
		f := strings.TrimSpace(field)
		if f == "" {
			return bad(at, "a part is missing: takes %s", Grammar)
		}
		rates, times, timed := strings.Cut(f, "@")
		timesAt := at + len(rates) + 1
		if rest, ok := strings.CutPrefix(rates, "+"); ok {
			rate, why := parseRate(rest)
			if why != "" {
				return bad(at+1, "%s", why)
			}
			every, long, ok := strings.Cut(times, "/")
			if !timed || !ok {
				return bad(at, "bursts %q: takes +N@EVERY/LONG, such as +2000@10s/1s", f)
			}
			b := burst{rate: rate}
			if b.every, why = parseTime(every); why != "" {
				return bad(timesAt, "%s", why)
			}
			if b.long, why = parseTime(long); why != "" {
				return bad(timesAt+len(every)+1, "%s", why)
			}
			if b.long >= b.every {
				return bad(timesAt, "bursts of %v every %v: a burst is shorter than the time between two", b.long,
					b.every)
			}
			s.bursts = append(s.bursts, b)
			continue
		}
		if open > 0 {
			return bad(open, "only the last part has no end: give this one a time, such as @30s")
		}
		var p part
		var why string
		from, to, ramp := strings.Cut(rates, "..")
		if p.from, why = parseRate(from); why != "" {
			return bad(at, "%s", why)
		}
		p.to = p.from
		if ramp {
			if p.to, why = parseRate(to); why != "" {
				return bad(at+len(from)+2, "%s", why)
			}
		}
		switch {
		case timed:
			if p.length, why = parseTime(times); why != "" {
				return bad(timesAt, "%s", why)
			}
		case ramp:
			return bad(at, "%s: from one rate to another within what time? Add it, such as %[1]s@60s", f)
		default:
			open = at
		}
		s.parts = append(s.parts, p)
	}
	if len(s.parts) == 0 {
		s.parts = []part{{}} // bursts alone: nothing between them
	}
	if s.peak() == 0 {
		return bad(1, "no arrival ever: the rate is 0 all the time")
	}
	if s.Length() < 0 || s.Length() > maxTime {
		return bad(1, "the parts take longer than %v together", maxTime)
	}
	return s, nil
}

// maxTime keeps sums of times far from the ends of what a Duration holds.
const maxTime = 10 * 365 * 24 * time.Hour

// peak is at least the highest rate.
func (s Shape) peak() (m float64) {
	for _, p := range s.parts {
		m = max(m, p.from, p.to)
	}
	for _, b := range s.bursts {
		m += b.rate
	}
	return m
}

// parseRate reads arrivals per second. The second result says what is wrong.
func parseRate(text string) (float64, string) {
	s, mult := text, 1.0
	if n := len(s); n > 0 {
		switch s[n-1] {
		case 'k', 'K':
			s, mult = s[:n-1], 1e3
		case 'm', 'M':
			s, mult = s[:n-1], 1e6
		}
	}
	for i := range len(s) { // neither 0x10 nor Inf nor a sign
		if (s[i] < '0' || s[i] > '9') && s[i] != '.' {
			s = ""
			break
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case text == "":
		return 0, "a rate is missing: takes " + Grammar
	case err != nil:
		return 0, fmt.Sprintf("rate %q: takes arrivals per second, such as 500, 0.5 or 2K", text)
	case f*mult > MaxRate:
		return 0, fmt.Sprintf("rate %s: takes at most %s", text, number(MaxRate))
	}
	return f * mult, ""
}

// parseTime reads a time above 0. The second result says what is wrong.
func parseTime(text string) (time.Duration, string) {
	d, err := time.ParseDuration(text)
	if err != nil {
		if d, err = time.ParseDuration(text + "s"); err != nil {
			return 0, fmt.Sprintf("time %q: takes a time such as 30s, 1m30s or 500ms", text)
		}
	}
	if d <= 0 || d > maxTime {
		return 0, fmt.Sprintf("time %s: takes more than 0, at most %v", text, maxTime)
	}
	return d, ""
}
