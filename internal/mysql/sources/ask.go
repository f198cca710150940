package sources

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

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
	var known *scrape.Problem
	if err == nil || errors.As(err, &known) {
		return err
	}
	p := &scrape.Problem{State: source.Failed, Reason: scrape.ReasonOf(err), Fix: target.HintOf(err), Err: err}
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
