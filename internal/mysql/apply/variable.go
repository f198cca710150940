package apply

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// setVariable changes a global variable while the server runs.
type setVariable struct{ a finding.Action }

// settleTime is how long a server may take until a variable shows what it was set to: MySQL resizes its buffer pool in
// the background.
const settleTime = 30 * time.Second

var variableName = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)?$`)

func (c *setVariable) subject() string   { return "variable " + c.a.Variable }
func (c *setVariable) table() schema.Ref { return schema.Ref{} }

// applied is the action with the value as the server tells it.
func (c *setVariable) applied() finding.Action { return c.a }

// global reads a variable; false when the server has none of the name.
func global(ctx context.Context, t *target.Target, name string) (string, bool, error) {
	rows, err := t.DB().QueryContext(ctx, sqltext.Tagged("apply", "", "SHOW GLOBAL VARIABLES WHERE Variable_name = '"+
		name+"'"))
	if err != nil {
		return "", false, t.Wrap("read the variable "+name, err)
	}
	defer rows.Close()
	var n, v string
	found := false
	for rows.Next() {
		if err := rows.Scan(&n, &v); err != nil {
			return "", false, t.Wrap("read the variable "+name, err)
		}
		found = true
	}
	if most := mostListed(t); len(v) >= most {
		return "", false, fmt.Errorf("read the variable %s: its value may be cut: %d bytes or more cannot be read back",
			name, most)
	}
	return v, found, t.Wrap("read the variable "+name, rows.Err())
}

// mostListed is from how many bytes on SHOW VARIABLES may have cut a value, without a word about the rest: MySQL lists
// 1024, MariaDB 4096, and the last character may not fit.
func mostListed(t *target.Target) int {
	most := 1024
	if t.Facts().Flavor.IsMariaDB() {
		most = 4096
	}
	return most - utf8.UTFMax + 1
}

func (c *setVariable) check(ctx context.Context, t *target.Target, p *change.Preview, o objections) error {
	name := c.a.Variable
	p.Words = fmt.Sprintf("Set the variable %s on %s to %s, until the server restarts.", name, t, c.a.Value)
	if !variableName.MatchString(name) || c.a.Value == "" {
		o.block("the action names no variable and value")
		return nil
	}
	if most := mostListed(t); len(c.a.Value) >= most {
		o.block("a value of %d bytes or more cannot be read back from the server: put it into my.cnf", most)
		return nil
	}
	was, has, err := global(ctx, t, name)
	if err != nil {
		return err
	}
	if !has {
		o.block("this server has no variable %s", name)
		return nil
	}
	p.Action.Was = was
	p.Action.SQL, p.Action.Undo = mytext.SetGlobal(name, c.a.Value), mytext.SetGlobal(name, was)
	p.Words = fmt.Sprintf("Set the variable %s on %s from %s to %s, until the server restarts.", name, t,
		textOr(was, "nothing"), c.a.Value)
	if equalValue(was, c.a.Value) {
		o.block("%s is already %s", name, was)
	}
	if fixed, err := readOnly(ctx, t, name); err != nil {
		return err
	} else if fixed {
		o.block("%s cannot be changed while the server runs: put %s=%s into my.cnf and restart it", name, name,
			c.a.Value)
	}
	if lacks, err := mayNot(ctx, t); err != nil {
		return err
	} else if lacks != "" {
		o.block("a privilege is missing: %s", lacks)
	}
	if copied, err := perSession(ctx, t, name); err != nil {
		return err
	} else if copied {
		o.warn("open sessions keep their value: %s is copied when a session begins, so pooled connections get the "+
			"new value when they are reopened", name)
	}
	return c.lasting(ctx, t, o)
}

// lasting says what a restart makes of the value, and where to write it for good.
func (c *setVariable) lasting(ctx context.Context, t *target.Target, o objections) error {
	name, value := c.a.Variable, c.a.Value
	// What SET PERSIST wrote into mysqld-auto.cnf is read after my.cnf.
	const q = "SELECT VARIABLE_VALUE FROM performance_schema.persisted_variables WHERE VARIABLE_NAME = ? AND " +
		"@@global.persisted_globals_load"
	var kept string
	found, err := ask(ctx, t, "ask whether "+name+" is persisted", q, []any{name}, &kept)
	if n, ok := target.ServerErrorNumber(err); ok && (n == 1146 || n == 1193) || target.KindOf(err) == endpoint.Denied {
		// MariaDB, MySQL before 8.0
		found, err = false, nil
	}
	switch {
	case err != nil:
		return err
	case found && equalValue(kept, value):
		o.warn("a restart keeps it: mysqld-auto.cnf has it")
	case found:
		o.warn("a restart sets it to %s again: SET PERSIST wrote that into mysqld-auto.cnf, which overrides my.cnf. "+
			"To keep the new value: %s; or RESET PERSIST %s "+
			"and put %s=%s into my.cnf", kept, strings.Replace(mytext.SetGlobal(name, value), "GLOBAL", "PERSIST", 1),
			name, name, value)
	default:
		o.warn("a restart resets it: to keep it, put %s=%s into my.cnf under [mysqld]", name, value)
	}
	return nil
}

// perSession reports whether each session has a value of its own.
func perSession(ctx context.Context, t *target.Target, name string) (bool, error) {
	var v any
	_, err := ask(ctx, t, "ask whether sessions have a value of "+name, "SELECT @@session."+name, nil, &v)
	if _, answered := target.ServerErrorNumber(err); answered { // 1238: it is the server's alone
		return false, nil
	}
	return err == nil, err
}

func textOr(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

// equalValue compares values as servers show them: switches have several names.
func equalValue(a, b string) bool {
	norm := func(s string) string {
		switch u := strings.ToUpper(strings.TrimSpace(s)); u {
		case "1", "TRUE", "YES":
			return "ON"
		case "0", "FALSE", "NO":
			return "OFF"
		default:
			if f, err := strconv.ParseFloat(u, 64); err == nil {
				return strconv.FormatFloat(f, 'g', -1, 64)
			}
			return u
		}
	}
	return norm(a) == norm(b)
}

// readOnly asks a server that tells it whether a variable can be changed while it runs. MySQL does not tell: it
// refuses.
func readOnly(ctx context.Context, t *target.Target, name string) (bool, error) {
	var ro string
	err := t.DB().QueryRowContext(ctx, sqltext.Tagged("apply", "",
		"SELECT READ_ONLY FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_NAME = '"+name+"'")).Scan(&ro)
	if n, ok := target.ServerErrorNumber(err); ok && n == 1109 { // MySQL has no such table
		return false, nil
	}
	if err != nil {
		return false, t.Wrap("ask whether "+name+" can be changed", err)
	}
	return ro == "YES", nil
}

// mayNot returns the GRANT that the account lacks to change global variables, "" when it has one that does.
func mayNot(ctx context.Context, t *target.Target) (string, error) {
	all := schema.Ref{Schema: "*", Table: "*"}
	first := ""
	for _, p := range []string{"SUPER", "SYSTEM_VARIABLES_ADMIN"} {
		lacks, err := missing(ctx, t, p, all)
		if err != nil || lacks == "" {
			return "", err
		}
		if first == "" {
			first = lacks
		}
	}
	return strings.Replace(first, ddl.Name(all), "*.*", 1), nil
}

// errTaken says that a statement was sent and may have been followed, or may be yet.
var errTaken = errors.New("the server has got the statement")

// set sends the statement and waits until the server shows an answer to it.
func (c *setVariable) set(ctx context.Context, t *target.Target, value, from string,
	note func(string),
) (string, error) {
	if _, err := t.DB().ExecContext(ctx, sqltext.Tagged("apply", "", mytext.SetGlobal(c.a.Variable, value))); err !=
		nil {
		err = t.Wrap("set "+c.a.Variable, err)
		if _, refused := target.ServerErrorNumber(err); !refused {
			// such as one that was stopped while the server was at it
			err = fmt.Errorf("%w; %w", err, errTaken)
		}
		return "", err
	}
	began := time.Now()
	for {
		now, _, err := global(ctx, t, c.a.Variable)
		if err != nil {
			return "", fmt.Errorf("%w; %w", err, errTaken)
		}
		if !equalValue(now, from) || equalValue(value, from) {
			if !equalValue(now, value) {
				note(fmt.Sprintf("the server set %s instead of %s", now, value))
			}
			return now, nil
		}
		if time.Since(began) > settleTime {
			return now, fmt.Errorf("set %s: %w, but %s is still %s", c.a.Variable, errTaken, c.a.Variable, now)
		}
		select {
		case <-ctx.Done():
			return now, fmt.Errorf("set %s: %w, and had not applied it yet: %w", c.a.Variable, errTaken, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (c *setVariable) apply(ctx context.Context, t *target.Target, _ progress.Sink, note func(string)) error {
	now, err := c.set(ctx, t, c.a.Value, c.a.Was, note)
	c.a.Now = now
	return err
}

// adjusted takes any value for what the server made of this one's: taking it back sets the one of before.
func (c *setVariable) adjusted(ctx context.Context, t *target.Target) (finding.Action, bool, error) {
	now, has, err := global(ctx, t, c.a.Variable)
	a := c.a
	a.Now = now
	return a, has, err
}

func (c *setVariable) revert(ctx context.Context, t *target.Target, _ progress.Sink, note func(string)) error {
	_, err := c.set(ctx, t, c.a.Was, c.a.Now, note)
	return err
}

func (c *setVariable) checkRevert(ctx context.Context, t *target.Target, o objections) error {
	lacks, err := mayNot(ctx, t)
	if lacks != "" {
		o.block("a privilege is missing: %s", lacks)
	}
	return err
}

func (c *setVariable) compare(ctx context.Context, t *target.Target) (standing, string, error) {
	now, has, err := global(ctx, t, c.a.Variable)
	switch {
	case err != nil:
		return "", "", err
	case !has:
		return nowhere, "", nil
	case c.a.Now != "" && equalValue(now, c.a.Now) || equalValue(now, c.a.Value):
		return inForce, "", nil
	case equalValue(now, c.a.Was):
		return asWas, "", nil
	}
	return other, now, nil
}
