package loader

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// spareConnections is how many connections more than its sessions a run asks a server for: Dyno's own, and somebody who
// wants to look.
const spareConnections = 20

// account asks what the account in use may do.
func (p *preflight) account(ctx context.Context, t *target.Target) error {
	var limit sql.NullString
	err := t.DB().QueryRowContext(ctx, sqltext.Tagged("load", "", "SELECT @@SESSION.max_user_connections")).Scan(&limit)
	if err != nil && !serverAnswered(err) {
		return t.Wrap("ask", err)
	}
	p.accountLimit, _ = strconv.ParseUint(limit.String, 10, 64)
	rows, err := t.DB().QueryContext(ctx, sqltext.Tagged("load", "", "SHOW GRANTS"))
	if err != nil {
		if serverAnswered(err) { // an account that only a proxy knows
			return nil
		}
		return t.Wrap("ask", err)
	}
	defer rows.Close()
	for rows.Next() {
		var g string
		if err := rows.Scan(&g); err != nil {
			return t.Wrap("ask", err)
		}
		p.grants = append(p.grants, g)
	}
	return t.Wrap("ask", rows.Err())
}

// connections compares the sessions with what the server and the account allow.
func (p *preflight) connections() {
	n := uint64(p.config.Threads)
	used, _ := wholeNumber(p.status, "threads_connected")
	if limit, ok := wholeNumber(p.vars, "max_connections"); ok {
		hint := fmt.Sprintf("SET GLOBAL max_connections=%d, or fewer --threads", n+used+spareConnections)
		switch {
		case n > limit:
			p.add(load.Refuse, hint, "%d sessions are more than the server takes: max_connections=%d", n, limit)
		case n+used > limit:
			p.add(load.Warn, hint, "%d sessions find no room: max_connections=%d, and %d are in use", n, limit, used)
		}
	}
	// One connection is Dyno's own.
	if p.accountLimit > 0 && n+1 > p.accountLimit {
		p.add(load.Refuse, fmt.Sprintf("ALTER USER … WITH MAX_USER_CONNECTIONS %d (or 0 for none), or fewer --threads",
			n+spareConnections),
			"%d sessions and a connection of Dyno's own are more than the account may have at a time: "+
				"max_user_connections=%d", n, p.accountLimit)
	}
}

// statements compares what the sessions prepare with what the server keeps.
func (p *preflight) statements() {
	limit, ok := wholeNumber(p.vars, "max_prepared_stmt_count")
	if !ok || p.config.PSMode == load.Disable {
		return
	}
	var each uint64
	for i := range p.plan.Statements {
		if !p.plan.Statements[i].Text {
			each++
		}
	}
	used, _ := wholeNumber(p.status, "prepared_stmt_count")
	need := each * uint64(p.config.Threads)
	hint := fmt.Sprintf("SET GLOBAL max_prepared_stmt_count=%d, or --db-ps-mode=disable", need+used+spareConnections)
	switch {
	case need > limit:
		p.add(load.Refuse, hint, "%d sessions prepare %d statements each, more than the server keeps: "+
			"max_prepared_stmt_count=%d", p.config.Threads, each, limit)
	case need+used > limit:
		p.add(load.Warn, hint, "%d sessions prepare %d statements each: max_prepared_stmt_count=%d, and %d are in use",
			p.config.Threads, each, limit, used)
	}
}

// tables compares the tables with what the server holds open. Every session may need an instance of its own of every
// table; the cache is divided into parts, each with its own instances of all tables that its sessions use.
// https://dev.mysql.com/doc/refman/9.0/en/table-cache.html
func (p *preflight) tables() {
	n, threads := uint64(len(p.plan.Tables)), uint64(p.config.Threads)
	if limit, ok := wholeNumber(p.vars, "table_definition_cache"); ok && n > limit {
		p.add(load.Warn, fmt.Sprintf("SET GLOBAL table_definition_cache=%d", n+400),
			"%d tables are more than the server "+
				"keeps definitions of: table_definition_cache=%d", n, limit)
	}
	limit, ok := wholeNumber(p.vars, "table_open_cache")
	if !ok {
		return
	}
	parts, _ := wholeNumber(p.vars, "table_open_cache_instances")
	hint := fmt.Sprintf("SET GLOBAL table_open_cache=%d", n*threads+400)
	switch sure := n * max(1, min(parts, threads)); {
	case sure > limit:
		p.add(load.Warn, hint,
			"the server would open and close tables all the time: table_open_cache=%d, %d tables and "+
				"%d sessions need %d to %d", limit, n, threads, sure, n*threads)
	case n*threads > limit:
		p.add(load.Note, hint, "the server may have to close tables in order to open others: table_open_cache=%d, %d "+
			"tables and %d sessions need up to %d", limit, n, threads, n*threads)
	}
}

// reservedFiles is how many files Dyno itself has open.
const reservedFiles = 100

// files compares the sessions with the files that this process may open: each is one.
func (p *preflight) files() {
	if limit, ok := platform.OpenFiles(); ok {
		p.filesOf(limit)
	}
}

func (p *preflight) filesOf(limit uint64) {
	if n := uint64(p.config.Threads); n+reservedFiles > limit {
		p.add(load.Refuse, fmt.Sprintf("ulimit -n %d, or fewer --threads", n+reservedFiles),
			"%d sessions are more than this process may open files: %d", n, limit)
	}
}
