package scrape

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/target"
)

// Source is one place that metrics come from. Scrape reads it once and emits samples with the time at, Unix
// milliseconds. It returns a *Problem when it can say what is wrong; samples emitted before are kept only when that
// problem is Partial. The deadline of ctx is the source's own. A source is used by one goroutine at a time.
type Source interface {
	Name() source.Name
	Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error
}

// stater is a source that also knows a part of what the server is doing. Fill is called after a Scrape that gave
// something, in the same round, and adds that part; nothing of it may be changed afterwards.
type stater interface{ Fill(*state.State) }

// eventer is a source that notices events. Events returns those since the last call; it is called after each Scrape.
type eventer interface{ Events() []event.Event }

// Cost says what reading a source takes from the server.
type Cost string

// The classes of cost.
const (
	Free  Cost = "free"  // nothing is asked of the server: files of the machine
	Light Cost = "light" // counters that are there anyway, a millisecond or two
	Heavy Cost = "heavy" // grows with sessions, tables or statements, or holds a lock that clients need
)

// Traits say how a source is read.
type Traits struct {
	Cost Cost
	// time between two readings, 0 for each round; it is never read more often, and less often when it is over its
	// Budget
	Every time.Duration
	// Budget is the time of the server's that the source may take, in seconds a second, averaged over its readings; 0
	// is 0.01.
	Budget float64
	Asked  bool   // read only when named in Options.Sources or Options.Also
	Grant  string // the privilege it needs as GRANT words it, "" for none: "PROCESS ON *.*"
	About  string // what it tells, a few words
}

// Problem is why a source gives nothing, or not everything.
type Problem struct {
	State   source.State
	Reason  string
	Fix     string // the GRANT or setting that would fix it
	Partial bool   // the samples that were emitted are good, something else is missing
	Err     error
}

// Error returns the reason.
func (p *Problem) Error() string { return p.Reason }

// Unwrap returns the error that the problem was made from, if there is one.
func (p *Problem) Unwrap() error { return p.Err }

// querier is what a source needs to ask the server; the row and its bytes are valid during the call of row only.
type querier interface {
	Query(ctx context.Context, sql string, row func([]driver.Value)) (int, error)
	// Generation changes with each new connection: what was learned about the server may then be out of date.
	Generation() int
}

// account is what a source needs to word a GRANT.
type account interface {
	Facts() target.Facts
	Answer(target.Capability) target.Answer
}

// grant words the statement that gives the account in use a privilege.
func grant(a account, privilege string) string {
	f := a.Facts()
	to := f.User
	if g, err := target.Grants(f.Flavor, "watch", f.User, nil); err == nil && len(g) > 0 {
		if _, t, ok := cutLast(g[0], " TO "); ok {
			to = t
		}
	}
	return "GRANT " + privilege + " TO " + to
}

func cutLast(s, sep string) (before, after string, ok bool) {
	for i := len(s) - len(sep); i >= 0; i-- {
		if s[i:i+len(sep)] == sep {
			return s[:i], s[i+len(sep):], true
		}
	}
	return s, "", false
}

// tagged returns a statement with a comment in front that names the source which sends it.
func tagged(name source.Name, sql string) string { return sqltext.Tagged("scrape", string(name), sql) }

// classify words an error of a question to the server; privilege is what the question needs, "" for none.
func classify(a account, err error, privilege string) error {
	var known *Problem
	if err == nil || errors.As(err, &known) {
		return err
	}
	p := &Problem{State: source.Failed, Reason: reasonOf(err), Fix: target.HintOf(err), Err: err}
	if target.KindOf(err) == endpoint.Denied {
		p.State, p.Reason = source.Denied, "a privilege is missing"
		if privilege != "" {
			p.Fix = grant(a, privilege)
		}
		return p
	}
	if n, ok := target.ServerErrorNumber(err); ok && (n == 1109 || n == 1146 || n == 1054 || n == 1049) {
		p.State, p.Reason, p.Fix = source.Missing, "this version of the server has no such thing", ""
	}
	return p
}

// describe turns what a source returned into the words of a snapshot.
func describe(err error) (state source.State, reason, fix string) {
	var p *Problem
	switch {
	case err == nil:
		return source.OK, "", ""
	case errors.As(err, &p):
		return p.State, p.Reason, p.Fix
	case errors.Is(err, context.DeadlineExceeded):
		return source.Slow, reasonOf(err), ""
	case errors.Is(err, os.ErrPermission):
		return source.Denied, reasonOf(err), ""
	}
	return source.Failed, reasonOf(err), target.HintOf(err)
}

// reasonOf is the text of an error, of which every second keeps one.
func reasonOf(err error) string { return state.Clip(err.Error(), 4096) }

// number reads a numeric column of any type that the driver hands out; what is no number, or has no end, JSON could not
// hold.
func number(v driver.Value) (f float64, ok bool) {
	switch x := v.(type) {
	case int64:
		return float64(x), true
	case uint64:
		return float64(x), true
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return 0, false
		}
		return x, true
	case float32:
		return number(float64(x))
	case []byte:
		return parseNumber(x)
	}
	return 0, false
}

// parseNumber reads decimal digits with sign, point and exponent; the words for infinity and hexadecimal forms that Go
// accepts too are text here.
func parseNumber(b []byte) (f float64, ok bool) {
	if len(b) == 0 || len(b) > 32 {
		return 0, false
	}
	plain := true
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
		case c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E':
			plain = false
		default:
			return 0, false
		}
	}
	if plain && len(b) <= 15 { // exact in a float64
		n := int64(0)
		for _, c := range b {
			n = n*10 + int64(c-'0')
		}
		return float64(n), true
	}
	if f, err := strconv.ParseFloat(string(b), 64); err == nil {
		return f, true
	}
	return 0, false // where it has no end, too
}

// text returns a column as bytes, nil for NULL.
func text(v driver.Value) []byte {
	switch x := v.(type) {
	case nil:
		return nil
	case []byte:
		return x
	case string:
		return []byte(x)
	}
	return fmt.Append(nil, v)
}

// metricName makes a server's name fit for Prometheus: lower case, anything but letters and digits is an underscore.
func metricName(prefix string, name []byte) string {
	b := make([]byte, 0, len(prefix)+len(name))
	b = append(b, prefix...)
	for _, c := range name {
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		default:
			c = '_'
		}
		b = append(b, c)
	}
	return string(b)
}
