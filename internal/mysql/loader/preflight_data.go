package loader

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/unit"
	"github.com/dyno-perf/dyno/internal/workload"
)

// triedStatements bounds how many statements are prepared on trial; those of other tables differ in a number.
const triedStatements = 64

// access prepares statements as the sessions would, which carries none of them out, but needs the tables and the
// privileges.
func (p *preflight) access(ctx context.Context, t *target.Target) error {
	if len(p.plan.Statements) == 0 {
		return nil
	}
	s, err := t.Session(ctx, target.SessionOptions{Database: p.plan.Schema})
	switch kind := target.KindOf(err); {
	case err == nil:
	case kind == endpoint.NoSuchDatabase:
		p.missing(err)
		return nil
	case kind == endpoint.Denied || kind == endpoint.TooManyConnections:
		p.add(load.Refuse, target.HintOf(err), "no session can be opened: %v", serverSays(err))
		return nil
	default:
		return err
	}
	defer s.Close()
	lacking := map[uint16]bool{}
	count := 0
	for i := range p.plan.Statements {
		st := &p.plan.Statements[i]
		if st.Kind == workload.Other { // BEGIN and the like need nothing
			continue
		}
		if count++; count > triedStatements {
			break
		}
		x, err := s.Prepare(ctx, st.SQL)
		if err == nil {
			if err := x.Close(); err != nil {
				return t.Wrap("ask", err)
			}
			continue
		}
		if !serverAnswered(err) {
			return err
		}
		number, _ := target.ServerErrorNumber(err)
		if lacking[number] { // one of each is enough
			continue
		}
		lacking[number] = true
		switch denied := target.KindOf(err) == endpoint.Denied; {
		case denied:
			p.add(load.Refuse, p.grant(t, err), "the account is missing a privilege: %v", serverSays(err))
		case number == noSuchTable:
			p.missing(err)
		case !st.Text && (number == noSuchColumn || number == otherColumns):
			p.add(load.Refuse, "use another database", "tables of these names are not those of %s: %v",
				p.plan.Workload, serverSays(err))
		default: // what cannot be prepared may still run as text, and may not even be the text that is sent: Call.Text
		}
	}
	return nil
}

const (
	noSuchColumn = 1054 // ER_BAD_FIELD_ERROR
	otherColumns = 1136 // ER_WRONG_VALUE_COUNT_ON_ROW
)

// missing tells of tables that are not there. A workload that brings no tables along may make them as it goes.
func (p *preflight) missing(err error) {
	if len(p.plan.Tables) == 0 {
		p.add(load.Warn, "", "%v", serverSays(err))
		return
	}
	p.add(load.Refuse, "prepare "+p.plan.Workload+" first, with the same options", "the tables do not exist: %v",
		serverSays(err))
}

// grant returns what would give the account the right.
func (p *preflight) grant(t *target.Target, err error) string {
	f := t.Facts()
	if g, gerr := target.Grants(f.Flavor, "load", f.User, []string{p.plan.Schema}); gerr == nil && len(g) > 0 {
		return g[len(g)-1]
	}
	return target.HintOf(err)
}

// serverSays is what the server said, without our own words about it.
func serverSays(err error) error {
	var e *endpoint.Error
	for errors.As(err, &e) && e.Err != nil {
		err = e.Err
	}
	return err
}

// sizedTables bounds how many tables are asked for their size; the others are taken to be as large on average.
const sizedTables = 256

// data compares the tables with the memory of the server.
func (p *preflight) data(ctx context.Context, t *target.Target) error {
	pool, ok := wholeNumber(p.vars, "innodb_buffer_pool_size")
	if !ok {
		return nil
	}
	bytes, known, err := p.size(ctx, t)
	if err != nil {
		return err
	}
	var memory uint64 // of the machine, or what the server may use of it; 0 when the server is elsewhere
	if pid, local := t.LocalPID(ctx); local {
		m, _ := host.FactsOf(pid) // what cannot be read stays unknown
		memory = m.MemBytes.Or(0)
	}
	p.memory(bytes, known, pool, memory)
	return nil
}

// memory judges sizes in bytes; memory is 0 when it is not known.
func (p *preflight) memory(bytes uint64, known bool, pool, memory uint64) {
	if memory > 0 && pool > memory/10*9 {
		p.add(load.Warn, "lower innodb_buffer_pool_size",
			"the buffer pool of %s leaves nothing of the %s of memory that "+
				"the server may use: it will be swapped out or killed",
			unit.Bytes(float64(pool)), unit.Bytes(float64(memory)))
	}
	if !known || bytes <= pool {
		return
	}
	text := fmt.Sprintf("the tables take %s, the buffer pool has %s", unit.Bytes(float64(bytes)),
		unit.Bytes(float64(pool)))
	method := p.vars["innodb_flush_method"]
	switch {
	case strings.HasPrefix(strings.ToUpper(method), "O_DIRECT"):
		p.add(load.Note, "", "%s: reads go to the disk too", text)
	case memory > 0 && bytes < memory-min(memory, pool):
		p.add(load.Warn, "innodb_flush_method=O_DIRECT keeps the operating system out of it",
			"%s, and innodb_flush_method=%s: what is not in the pool comes from the memory of the operating system, "+
				"not from the disk", text, method)
	default:
		p.add(load.Note, "", "%s: reads go to the disk too, or to the memory of the operating system "+
			"(innodb_flush_method=%s)", text, method)
	}
}

// size returns how many bytes the InnoDB tables of the plan take with their indexes, as the server estimates them, and
// whether any is known.
func (p *preflight) size(ctx context.Context, t *target.Target) (bytes uint64, known bool, err error) {
	c, err := t.Conn(ctx)
	if err != nil {
		return 0, false, err
	}
	defer c.Close()
	// MySQL 8.0 and later show sizes of up to a day ago unless they are told not to
	const expiry = "information_schema_stats_expiry"
	if _, has := p.vars[expiry]; has {
		if _, err := c.ExecContext(ctx, sqltext.Tagged("load", "", "SET SESSION "+expiry+"=0")); err != nil {
			return 0, false, t.Wrap("ask", err)
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
			defer cancel()
			if _, serr := c.ExecContext(ctx, sqltext.Tagged("load", "", "SET SESSION "+expiry+
				"=DEFAULT")); serr != nil && err == nil {
				err = t.Wrap("ask", serr)
			}
		}()
	}
	n := min(len(p.plan.Tables), sizedTables)
	for _, tb := range p.plan.Tables[:n] {
		ref := schema.Ref{Schema: p.plan.Schema, Table: tb.Name}
		var size sql.NullInt64
		err := c.QueryRowContext(ctx, sqltext.Tagged("load", "", "SELECT DATA_LENGTH + INDEX_LENGTH FROM "+
			"information_schema.TABLES"+
			" WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND ENGINE = 'InnoDB'"), ref.Schema, ref.Table).Scan(&size)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return 0, false, t.Wrap("ask for the size of "+ref.String()+" on", err)
		case size.Valid:
			bytes += uint64(size.Int64)
			known = true
		}
	}
	if n > 0 {
		bytes = uint64(float64(bytes) * float64(len(p.plan.Tables)) / float64(n))
	}
	return bytes, known, nil
}
