package load

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/workload"
)

// Severity says what a Remark means for a run.
type Severity string

const (
	Note   Severity = "note"   // part of what the figures mean, such as a commit that is not flushed
	Warn   Severity = "warn"   // the figures would not mean what they seem to
	Refuse Severity = "refuse" // the run cannot succeed
)

// Remark is something to know before a run begins.
type Remark struct {
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`          // what was found, with its figures
	Hint     string   `json:"hint,omitzero"` // what to do about it; empty when there is nothing to be done
}

// String returns the text with the hint.
func (r Remark) String() string {
	if r.Hint == "" {
		return r.Text
	}
	return r.Text + "; " + r.Hint
}

// Preflight looks for what would spoil a run, the worst first: limits of the server that the sessions would meet,
// missing tables and privileges, tables against memory, and settings under which the figures mean something else. It
// only reads, and changes nothing on the server. No remark means that nothing was found of what it knows; what could
// not be looked at is a remark too. An error is a wrong configuration or a server that does not answer.
func Preflight(ctx context.Context, t *target.Target, c Config) ([]Remark, error) {
	c, plan, err := c.settle()
	if err != nil {
		return nil, err
	}
	p := &preflight{config: c, plan: plan}
	for i := range plan.Statements {
		p.reads = p.reads || plan.Statements[i].Kind == workload.Read
		p.writes = p.writes || plan.Statements[i].Kind == workload.Write
	}
	if p.vars, err = showPairs(ctx, t, "SHOW GLOBAL VARIABLES"); err != nil {
		return nil, err
	}
	if p.status, err = showPairs(ctx, t, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', "+
		"'Prepared_stmt_count')"); err != nil {
		return nil, err
	}
	for _, look := range []func(context.Context, *target.Target) error{p.account, p.access, p.data, p.instruments} {
		if err := look(ctx, t); err != nil {
			return nil, fmt.Errorf("check %s before the run: %w", t, err)
		}
	}
	for _, look := range []func(){
		p.connections, p.statements, p.tables, p.files, p.readOnly,
		p.debug, p.durability, p.recovery, p.queryCache, p.logs, p.limits, p.autocommit,
	} {
		look()
	}
	slices.SortStableFunc(p.remarks, func(a, b Remark) int {
		return cmp.Compare(severityRank[b.Severity], severityRank[a.Severity])
	})
	return p.remarks, nil
}

var severityRank = map[Severity]int{Note: 0, Warn: 1, Refuse: 2}

// preflight is what is known before a run.
type preflight struct {
	config Config
	plan   *workload.Plan
	reads  bool
	writes bool

	vars   map[string]string // global variables, names in lower case; a server has not all of them
	status map[string]string // counters, names in lower case
	// accountLimit is how many connections the account may have at a time; 0 for no limit of its own.
	accountLimit uint64
	grants       []string

	remarks []Remark
}

func (p *preflight) add(s Severity, hint, text string, args ...any) {
	p.remarks = append(p.remarks, Remark{s, fmt.Sprintf(text, args...), hint})
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
