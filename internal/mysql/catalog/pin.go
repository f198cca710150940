package catalog

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/schema"
)

// What MariaDB and MySQL before 8.0 tell of a view they learn by opening it, and opening it they may evaluate what is
// constant in it: a stored function of whoever made the view, with the privileges of who asks. So no more than the type
// is asked of what is not known to be a table, for which they open nothing, and whoever asks for more pins the tables
// first: their names cannot become those of views then.

// describe reads what keep leaves of the tables and views of a part. Of views it tells the names alone.
func describe(ctx context.Context, q Querier, has map[string]bool, p part, keep func([]schema.Table) []schema.Table) (
	out []schema.Table, err error,
) {
	var found []schema.Table
	if has["STATISTICS.IS_VISIBLE"] { // a data dictionary, which evaluates nothing
		if found, err = heads(ctx, q, p); err != nil {
			return nil, err
		}
		return detailed(ctx, q, has, p.schema, keep(found))
	}
	where, args := p.where("TABLE_SCHEMA", "TABLE_NAME")
	about := p.about()
	err = each(ctx, q, "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES"+
		where, args, func(r row) {
		if ref := (schema.Ref{Schema: r.text(0), Table: r.text(1)}); about(ref) {
			found = append(found, schema.Table{Ref: ref, View: strings.HasSuffix(r.text(2), "VIEW")})
		}
	})
	if err != nil {
		return nil, err
	}
	found = keep(found)
	var refs []schema.Ref
	for _, t := range found {
		if t.View {
			out = append(out, t)
		} else {
			refs = append(refs, t.Ref)
		}
	}
	if len(refs) == 0 {
		return out, nil
	}
	err = pinned(ctx, q, refs, false, func(q Querier, names []string) error {
		tables, err := heads(ctx, q, part{schema: refs[0].Schema, names: names, bytes: true})
		if err != nil {
			return err
		}
		tables = slices.DeleteFunc(tables, func(t schema.Table) bool { return !slices.Contains(refs, t.Ref) })
		if tables, err = detailed(ctx, q, has, refs[0].Schema, tables); err == nil {
			out = append(out, tables...)
		}
		return err
	})
	return out, err
}

// detailed adds the details of those that are no views.
func detailed(ctx context.Context, q Querier, has map[string]bool, schemaName string, found []schema.Table) (
	out []schema.Table, err error,
) {
	p := part{schema: schemaName, bytes: !has["STATISTICS.IS_VISIBLE"]}
	var tables []schema.Table
	for _, t := range found {
		if t.View {
			out = append(out, t)
			continue
		}
		tables = append(tables, t)
		p.schema, p.names = t.Schema, append(p.names, t.Table)
	}
	if len(tables) == 0 {
		return out, nil
	}
	if err := details(ctx, q, has, p, tables); err != nil {
		return nil, err
	}
	return append(out, tables...), nil
}

// mostPinned is how many names a statement pins: servers join 61.
const mostPinned = 60

// pinned runs f with those names of tables of one schema that were pinned, on one connection. Of tables that
// somebody changes right now, or that cannot be opened, it tells by errBusy after f had the others; without wait, which
// is as long as the session's lock_wait_timeout, at once.
func pinned(ctx context.Context, q Querier, refs []schema.Ref, wait bool,
	f func(q Querier, names []string) error,
) error {
	if db, ok := q.(*sql.DB); ok {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		q = conn
	}
	if err := each(ctx, q, ddl.BeginPins, nil, func(row) {}); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = each(ctx, q, ddl.EndPins, nil, func(row) {}) // with the connection the locks go
	}()
	var names []string
	var busy error // why a table that is there was not pinned
	for chunk := range slices.Chunk(refs, mostPinned) {
		err := pin(ctx, q, chunk, wait)
		if err == nil {
			for _, r := range chunk {
				names = append(names, r.Table)
			}
			continue
		}
		for _, r := range chunk {
			if !refused(err) || ctx.Err() != nil {
				return err
			}
			began := time.Now()
			switch one := pin(ctx, q, []schema.Ref{r}, wait); {
			case one == nil || denied(one):
				names = append(names, r.Table)
			case !refused(one):
				return one
			case !isView(one) && !isGone(one):
				busy = one
				if time.Since(began) > 300*time.Millisecond && !wait {
					// such a server waits for each: others would wait for this session
					return errors.Join(errBusy, one)
				}
			}
		}
	}
	if len(names) > 0 {
		if err := f(q, names); err != nil {
			return err
		}
	}
	if busy != nil { // it is not gone
		return errors.Join(errBusy, busy)
	}
	return nil
}

// errBusy says that tables could not be read because somebody changes them, or that they cannot be opened.
var errBusy = errors.New("the table is in use")

// Definition returns the statement that makes a table, as SHOW CREATE TABLE writes it.
func Definition(ctx context.Context, q Querier, ref schema.Ref) (text string, err error) {
	err = pinned(ctx, q, []schema.Ref{ref}, true, func(q Querier, _ []string) error {
		return each(ctx, q, "SHOW CREATE TABLE "+ddl.Name(ref), nil, func(r row) { text = r.text(1) })
	})
	if err == nil && text == "" {
		err = errors.New("there is no such table now, or it is a view")
	}
	return text, err
}

func pin(ctx context.Context, q Querier, refs []schema.Ref, wait bool) error {
	return each(ctx, q, ddl.PinSQL(refs, wait), nil, func(row) {})
}

// denied reports whether the account may not read a table, which may be described to it all the same: by the advised
// grants it may not execute what a view in its place would hold either.
func denied(err error) bool { return is(err, "1142", "1143") }
func isView(err error) bool { return is(err, "1176") }
func isGone(err error) bool { return is(err, "1146", "1049") }

func is(err error, numbers ...string) bool {
	return refused(err) && slices.ContainsFunc(numbers, func(n string) bool {
		return strings.HasPrefix(err.Error(), "Error "+n+" ")
	})
}

// refused reports whether the server answered with an error of its own.
func refused(err error) bool {
	// as the driver words them, which only package target knows
	return err != nil && strings.HasPrefix(err.Error(), "Error ")
}
