package capture

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

// programs watches what stored routines, triggers and events do within a window: performance_schema's
// events_statements_summary_by_program (MySQL 5.7, MariaDB 10.5), at its begin and at its end.
type programs struct {
	t      *target.Target
	before map[program]counted
	source source.Source
}

type program struct{ kind, schema, name string }

// counted is what the server has counted of a program: executions, their time in seconds, and the same of statements
// within.
type counted struct {
	count      uint64
	sec        float64
	statements uint64
	inner      float64
}

// Bounds of what is told of programs.
const (
	mostPrograms = 1000 // that are read
	keptPrograms = 50   // that are kept, those with the most time
	longestBody  = 8 << 10
)

// begin takes the first reading. Without performance_schema there is none, and the source says so.
func (p *programs) begin(ctx context.Context) error {
	p.source = source.Source{Name: source.Programs, State: source.OK}
	if v, ok := p.t.Variable("performance_schema"); !ok || v != "ON" && v != "1" {
		p.source.State, p.source.Reason = source.Missing, "performance_schema is off"
		p.source.Fix = "performance_schema=ON in the server's configuration, then a restart"
		return nil
	}
	var err error
	p.before, err = p.read(ctx)
	return p.settle(ctx, err)
}

// settle notes why there is no reading; an error means that the server went away.
func (p *programs) settle(ctx context.Context, err error) error {
	switch {
	case err == nil:
		p.source.Reads++
	case gone(ctx, err):
		return err
	default:
		p.source.State, p.source.Reason, p.source.Fix = source.Failed, err.Error(), target.HintOf(err)
		switch n, _ := target.ServerErrorNumber(err); {
		case target.KindOf(err) == endpoint.Denied:
			p.source.State, p.source.Reason, p.source.Fix = source.Denied, "a privilege is missing",
				"GRANT SELECT ON performance_schema.* TO "+account(p.t)
		case n == 1146 || n == 1109 || n == 1054:
			p.source.State, p.source.Reason, p.source.Fix = source.Missing, "this version of the server has no "+
				"such thing", ""
		}
	}
	return nil
}

// account is the account in use as GRANT takes it.
func account(t *target.Target) string {
	f := t.Facts()
	if g, err := target.Grants(f.Flavor, "watch", f.User, nil); err == nil && len(g) > 0 {
		if i := strings.LastIndex(g[0], " TO "); i >= 0 {
			return g[0][i+len(" TO "):]
		}
	}
	return f.User
}

var askPrograms = "SELECT LOWER(OBJECT_TYPE), OBJECT_SCHEMA, OBJECT_NAME, COUNT_STAR, SUM_TIMER_WAIT, " +
	"COUNT_STATEMENTS, SUM_STATEMENTS_WAIT" +
	" FROM performance_schema.events_statements_summary_by_program WHERE COUNT_STAR > 0 AND OBJECT_SCHEMA <> 'sys' " +
	"ORDER BY SUM_TIMER_WAIT DESC LIMIT " + strconv.Itoa(mostPrograms)

func (p *programs) read(ctx context.Context) (map[program]counted, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*questionTime)
	defer cancel()
	conn, err := target.Limited(ctx, p.t, questionTime)
	if err != nil {
		return nil, err
	}
	defer func() { _ = target.Discard(conn) }()
	began := time.Now()
	_, rows, err := asked(ctx, conn, "programs", askPrograms)
	if err != nil {
		return nil, err
	}
	p.source.Took = time.Since(began).Seconds() * 1000
	out := map[program]counted{}
	for _, r := range rows {
		n := func(i int) uint64 { v, _ := strconv.ParseUint(r[i], 10, 64); return v }
		out[program{r[0], r[1], r[2]}] = counted{
			count: n(3), sec: float64(n(4)) * 1e-12, statements: n(5),
			inner: float64(n(6)) * 1e-12,
		}
	}
	return out, nil
}

// end takes the second reading and returns what ran in between, most time first, with its definition where that may be
// seen.
func (p *programs) end(ctx context.Context) ([]snapshot.Program, error) {
	if p.before == nil {
		return nil, nil
	}
	after, err := p.read(ctx)
	if err := p.settle(ctx, err); err != nil || after == nil {
		return nil, err
	}
	var out []snapshot.Program
	for k, b := range after {
		a := p.before[k]
		if b.count < a.count { // emptied meanwhile
			a = counted{}
		}
		if b.count == a.count {
			continue
		}
		x := snapshot.Program{
			Kind: k.kind, Schema: k.schema, Name: k.name, Count: b.count - a.count,
			TimeSec: max(0, b.sec-a.sec),
		}
		if b.statements > 0 && b.statements >= a.statements {
			// none at all: their instruments are off, as they are in MariaDB
			x.Statements, x.StatementsSec = known.Of(b.statements-a.statements), known.Of(max(0, b.inner-a.inner))
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b snapshot.Program) int {
		return cmp.Or(cmp.Compare(b.TimeSec, a.TimeSec), cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Kind, b.Kind))
	})
	out = out[:min(len(out), keptPrograms)]
	if len(out) == 0 {
		return nil, nil
	}
	if err := p.define(ctx, out); err != nil && gone(ctx, err) {
		return nil, err
	}
	return out, nil
}

// define fills in the definitions, as far as the account may see them.
func (p *programs) define(ctx context.Context, list []snapshot.Program) error {
	ctx, cancel := context.WithTimeout(ctx, 2*questionTime)
	defer cancel()
	conn, err := target.Limited(ctx, p.t, questionTime)
	if err != nil {
		return err
	}
	defer func() { _ = target.Discard(conn) }()
	for i := range list {
		x := &list[i]
		q := "SELECT ROUTINE_DEFINITION, '' FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = %s AND " +
			"ROUTINE_NAME = %s"
		switch x.Kind {
		case "trigger":
			q = "SELECT ACTION_STATEMENT, EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = " +
				"%s AND TRIGGER_NAME = %s"
		case "event":
			q = "SELECT EVENT_DEFINITION, '' FROM information_schema.EVENTS WHERE EVENT_SCHEMA = %s AND EVENT_NAME = %s"
		case "function", "procedure":
			q += " AND ROUTINE_TYPE = '" + strings.ToUpper(x.Kind) + "'"
		default:
			continue
		}
		_, rows, err := asked(ctx, conn, "programs", fmt.Sprintf(q, mytext.Literal(x.Schema), mytext.Literal(x.Name)))
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r[0] != "NULL" {
				x.Body = cut(r[0], longestBody)
			}
			x.Table = r[1]
		}
	}
	return nil
}

// cut shortens a text to about n bytes, at a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + " …"
}
