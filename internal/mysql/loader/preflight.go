package loader

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/workload"
)

// Preflight looks for what would spoil a run, the worst first: limits of the server that the sessions would meet,
// missing tables and privileges, tables against memory, and settings under which the figures mean something else. It
// only reads, and changes nothing on the server. No remark means that nothing was found of what it knows; what could
// not be looked at is a remark too. An error is a wrong configuration or a server that does not answer.
func (s Server) Preflight(ctx context.Context, c load.Config) ([]load.Remark, error) {
	c, plan, err := c.Settle()
	if err != nil {
		return nil, err
	}
	p := &preflight{config: c, plan: plan}
	for i := range plan.Statements {
		p.reads = p.reads || plan.Statements[i].Kind == workload.Read
		p.writes = p.writes || plan.Statements[i].Kind == workload.Write
	}
	if p.vars, err = showPairs(ctx, s.T, "SHOW GLOBAL VARIABLES"); err != nil {
		return nil, err
	}
	if p.status, err = showPairs(ctx, s.T, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', "+
		"'Prepared_stmt_count')"); err != nil {
		return nil, err
	}
	for _, look := range []func(context.Context, *target.Target) error{p.account, p.access, p.data, p.instruments} {
		if err := look(ctx, s.T); err != nil {
			return nil, fmt.Errorf("check %s before the run: %w", s.T, err)
		}
	}
	for _, look := range []func(){
		p.connections, p.statements, p.tables, p.files, p.readOnly,
		p.debug, p.durability, p.recovery, p.queryCache, p.logs, p.limits, p.autocommit,
	} {
		look()
	}
	load.SortRemarks(p.remarks)
	return p.remarks, nil
}

// preflight is what is known before a run.
type preflight struct {
	config load.Config
	plan   *workload.Plan
	reads  bool
	writes bool

	vars   map[string]string // global variables, names in lower case; a server has not all of them
	status map[string]string // counters, names in lower case
	// accountLimit is how many connections the account may have at a time; 0 for no limit of its own.
	accountLimit uint64
	grants       []string

	remarks []load.Remark
}

func (p *preflight) add(s load.Severity, hint, text string, args ...any) {
	p.remarks = append(p.remarks, load.Remark{Severity: s, Text: fmt.Sprintf(text, args...), Hint: hint})
}

// wholeNumber returns a variable or a counter that is a whole number, and whether the server has it.
func wholeNumber(m map[string]string, name string) (uint64, bool) {
	n, err := strconv.ParseUint(m[name], 10, 64)
	return n, err == nil
}

// on reports whether a variable is switched on; there are switches with more than two positions.
func (p *preflight) on(name string) bool {
	v, ok := p.vars[name]
	return ok && v != "" && !strings.EqualFold(v, "OFF") && v != "0"
}

// showPairs reads the answer to a SHOW of names and values.
func showPairs(ctx context.Context, t *target.Target, q string) (map[string]string, error) {
	m := map[string]string{}
	rows, err := t.DB().QueryContext(ctx, sqltext.Tagged("load", "", q))
	if err != nil {
		return nil, t.Wrap("ask", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var value sql.NullString
		if err := rows.Scan(&name, &value); err != nil {
			return nil, t.Wrap("ask", err)
		}
		m[strings.ToLower(name)] = value.String
	}
	return m, t.Wrap("ask", rows.Err())
}

// serverAnswered reports whether an error is an answer of the server, so that only the question was in vain.
func serverAnswered(err error) bool {
	_, ok := target.ServerErrorNumber(err)
	return ok
}
