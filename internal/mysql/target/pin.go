package target

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// pin is the server process that all new connections of a target must reach.
type pin struct {
	question string
	answer   []string // what it answers, one for each of names and starting
}

const (
	naming   = "SELECT @@global.hostname, @@global.port, @@global.datadir, @@global.server_id"
	uuid     = ", @@global.server_uuid" // MariaDB has none
	starting = ", UNIX_TIMESTAMP() - CAST(VARIABLE_VALUE AS SIGNED) FROM "
	uptime   = ".global_status WHERE VARIABLE_NAME = 'Uptime'"
)

// statusSchemas are where versions show their status variables.
var statusSchemas = []string{"information_schema", "performance_schema"}

// identities returns the statements that ask a server who it is, the most telling first. The start is part of the
// answer, because all of two containers' names can be equal; it is counted on the server by one clock, in one
// statement, so it does not waver.
func identities(withUUID bool) (qs []string) {
	q := naming
	if withUUID {
		q += uuid
	}
	for _, s := range statusSchemas {
		qs = append(qs, q+starting+s+uptime)
	}
	return append(qs, q)
}

// Pin binds the target to the server that its facts are of: from then on every new connection of the pool, and every
// Session, is asked first who answers, and is closed with an error of kind Elsewhere when that is another server, or
// the same one after a restart. Behind a balancer, a moved address or a name with several addresses, two logins may
// reach two servers. Call it before others use the target; a second call does nothing.
func (t *Target) Pin(ctx context.Context) error {
	if t.pin.Load() != nil {
		return nil
	}
	conn, err := t.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	p := &pin{}
	_, withUUID := t.vars["server_uuid"]
	err = conn.Raw(func(c any) error {
		var err error
		for _, p.question = range identities(withUUID) {
			if p.answer, err = p.ask(ctx, c); err == nil {
				return nil
			}
			if _, other := ServerErrorNumber(err); !other { // the version has no such table
				return err
			}
		}
		return err
	})
	if err != nil {
		return t.Wrap("ask which server answers:", err)
	}
	for i, name := range []string{"hostname", "port", "datadir", "server_id", "server_uuid"} {
		if want, ok := t.vars[name]; ok && i < len(p.answer) && p.answer[i] != want {
			return elsewhere(t.spec, t.facts.Server, strings.Join(p.answer, ", "))
		}
	}
	t.pin.Store(p)
	for _, pool := range []*sql.DB{t.db, t.reading} {
		pool.SetMaxIdleConns(0) // those that are open were not asked
		pool.SetMaxIdleConns(poolSize / 2)
	}
	return nil
}

// verify asks a new connection who answers, once the target is pinned.
func (c *connector) verify(ctx context.Context, conn driver.Conn, where string) error {
	p := c.t.pin.Load()
	if p == nil {
		return nil
	}
	count(where, p.question)
	got, err := p.ask(ctx, conn)
	if n, ok := ServerErrorNumber(err); ok { // the server that was pinned did answer
		got, err = []string{fmt.Sprintf("one that answers with error %d: %v", n, err)}, nil
	}
	if err != nil {
		return err
	}
	if want, is := strings.Join(p.answer, ", "), strings.Join(got, ", "); want != is {
		return elsewhere(c.spec, want, is)
	}
	return nil
}

func elsewhere(s endpoint.Spec, want, is string) error {
	return &endpoint.Error{
		Op: "connect to", Kind: endpoint.Elsewhere, Target: s.Where(), Fix: hint(endpoint.Elsewhere, nil, &s),
		Err: fmt.Errorf("another server answers than before, or it was restarted: before (%s), now (%s)", cut(want),
			cut(is)),
	}
}

// ask returns the only row that the server answers with.
func (p *pin) ask(ctx context.Context, conn any) ([]string, error) {
	q, ok := conn.(driver.QueryerContext)
	if !ok {
		return nil, fmt.Errorf("ask which server answers: the driver's connection is a %T", conn)
	}
	rows, err := q.QueryContext(ctx, own(p.question), nil)
	if err != nil {
		return nil, err
	}
	row := make([]driver.Value, len(rows.Columns()))
	err = rows.Next(row)
	out := make([]string, len(row))
	for i, v := range row {
		if b, ok := v.([]byte); ok {
			out[i] = string(b)
		} else {
			out[i] = fmt.Sprint(v)
		}
	}
	return out, errors.Join(err, rows.Close())
}
