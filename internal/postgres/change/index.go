package change

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
)

// mostName and mostParts are the limits of a server as it is built: it cuts longer names off.
// https://www.postgresql.org/docs/current/limits.html
const (
	mostName  = 63
	mostParts = 32
)

// ofIndex is what all changes of one index share.
type ofIndex struct {
	Changer
	a finding.Action
}

func (k *ofIndex) subject() string { return "index " + k.a.Index.Name }

func (k *ofIndex) removal() string {
	return "DROP INDEX CONCURRENTLY " + conn.Quote(k.a.Table.Schema, k.a.Index.Name)
}

// stepOf returns what the steps of both kinds share, with the statements that they send.
func (k *ofIndex) stepOf(
	compare func(context.Context) (change.Standing, string, error), statements ...string,
) change.Step {
	s := change.Step{
		Subject: k.subject(), Place: " on " + k.a.Table.String(), Compare: compare,
		Busy: func(ctx context.Context) (busy bool, err error) {
			err = looking(ctx, k.t, func(s session) error { busy, err = s.busy(ctx, statements); return err })
			return busy, err
		},
	}
	s.Unsure = func(ctx context.Context, _ error) bool {
		look, cancel := change.Afterwards(ctx)
		defer cancel()
		busy, err := s.Busy(look)
		return err != nil || busy || s.Leaves(ctx)
	}
	return s
}

// busy reports whether another session of this account is at work on one of these statements. The server may cut their
// texts.
func (s session) busy(ctx context.Context, statements []string) (busy bool, err error) {
	var sent []string
	for _, q := range statements {
		sent = append(sent, tagged(q))
	}
	const q = `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND
 usename = session_user AND datname = current_database() AND length(query) > 40 AND
 EXISTS (SELECT FROM unnest($1::text[]) q WHERE starts_with(q, query)))`
	_, err = s.ask(ctx, "look for the change", q, []any{sent}, &busy)
	return busy, err
}

// checkTable looks for what stands against any change of the table's indexes; false when there is no such table.
func (k *ofIndex) checkTable(ctx context.Context, s session, p *change.Preview) (table, bool, error) {
	f := k.t.Facts()
	if f.Replica {
		p.Block("the server is a standby, which is read-only: make the change on its primary")
	}
	name := k.a.Index.Name
	switch {
	case k.a.Table.Schema == "" || k.a.Table.Table == "" || name == "":
		p.Block("the action does not name an index and its table with its schema")
	case len(name) > mostName:
		p.Block("the name %s is longer than %d bytes", name, mostName)
	case strings.HasPrefix(k.a.Table.Schema, "pg_") || k.a.Table.Schema == "information_schema":
		p.Block("%s is a table of the server's own", k.a.Table)
	}
	t, found, err := s.table(ctx, k.a.Table)
	if err != nil {
		return t, false, err
	}
	if !found {
		p.Block("there is no table %s in the database %s", k.a.Table, f.Database)
		return t, false, nil
	}
	switch {
	case t.kind == "p":
		p.Block("%s is partitioned: the server changes its indexes CONCURRENTLY only on each partition", k.a.Table)
	case t.kind == "v" || t.kind == "f":
		p.Block("%s is a view or a foreign table, which has no index", k.a.Table)
	case t.temp:
		p.Block("%s is a temporary table of a session", k.a.Table)
	}
	if !t.mine {
		p.Block("a privilege is missing: only the owner changes indexes: GRANT %s TO %s", conn.Quote(t.owner),
			conn.Quote(f.User))
	}
	var standbys int
	const q = "SELECT count(*) FROM pg_stat_replication"
	if _, err := s.ask(ctx, "count the standbys", q, nil, &standbys); err != nil {
		return t, true, err
	}
	if standbys > 0 {
		p.Warn("standbys replay the same change, and may lag while they do")
	}
	if t.rows >= 0 {
		p.Rows = known.Of(uint64(t.rows))
	}
	p.TableBytes = known.Of(uint64(t.bytes))
	return t, true, nil
}

// built returns the session that builds an index at this moment; 0 when there is none.
func (s session) built(ctx context.Context, oid uint32) (pid int, err error) {
	const q = "SELECT pid FROM pg_stat_progress_create_index WHERE index_relid = $1 LIMIT 1"
	_, err = s.ask(ctx, "look for builds", q, []any{oid}, &pid)
	return pid, err
}

// leftBy returns the id of the latest action on the index when that may have left it half-way: one that did not end, or
// whose undo did not. Else it is "".
func (k *ofIndex) leftBy(ctx context.Context, j change.Reader) (string, error) {
	if j == nil {
		return "", nil
	}
	all, err := j.Entries(ctx, "", 0)
	if err != nil {
		return "", fmt.Errorf("read the journal: %w", err)
	}
	for _, e := range all {
		a := e.Action
		if e.Server == k.Server().Key() && (a.Kind == finding.AddIndex || a.Kind == finding.DropIndex) &&
			a.Table == k.a.Table && a.Index.Name == k.a.Index.Name && e.State != journal.Planned {
			if e.State == journal.Running || e.State == journal.Done && !e.UndoBegan.IsZero() {
				return e.ID, nil
			}
			return "", nil
		}
	}
	return "", nil
}

// drop drops the index. One that is given up half-way leaves it invalid.
func (k *ofIndex) drop(ctx context.Context, report progress.Sink, note func(string)) error {
	err := k.build(ctx, k.removal(), report, note)
	if err == nil {
		return nil
	}
	look, cancel := change.Afterwards(ctx)
	defer cancel()
	if lerr := looking(look, k.t, func(s session) error {
		x, found, err := s.index(look, k.a)
		if found && !x.valid {
			note("the index " + x.Name + " is half dropped: it is invalid, costs writes and serves nothing; undo " +
				"this action or repeat the drop")
		}
		return err
	}); lerr != nil {
		note("what is left of the index was not checked: " + lerr.Error())
	}
	return err
}

// clear drops an invalid index of the name, before a new one is built: the one with an oid, or whichever it is with 0.
func (k *ofIndex) clear(ctx context.Context, oid uint32, report progress.Sink, note func(string)) error {
	var x index
	var found bool
	var built int
	err := looking(ctx, k.t, func(s session) (err error) {
		if x, found, err = s.index(ctx, k.a); found && err == nil {
			built, err = s.built(ctx, x.oid)
		}
		return err
	})
	switch {
	case err != nil || !found || x.valid || oid != 0 && x.oid != oid:
		return err
	case built != 0:
		return fmt.Errorf("the session %d is building the index %s now", built, x.Name)
	}
	if err := k.build(ctx, k.removal(), report, note); err != nil {
		return fmt.Errorf("drop the invalid index that was left: %w", err)
	}
	note("the invalid index " + x.Name + " that an interrupted change left was dropped")
	return nil
}

// cleanTime bounds the dropping of what a failed build left.
const cleanTime = 5 * time.Minute

// cleaned drops the invalid index that a failed build left, and returns the build's error with what came of that.
func (k *ofIndex) cleaned(
	ctx context.Context, failure error, statement string, report progress.Sink, note func(string),
) error {
	if code, _ := conn.SQLState(failure); code == "42P07" { // duplicate_table: it is another's
		return failure
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	var busy bool
	err := looking(ctx, k.t, func(s session) (err error) {
		busy, err = s.busy(ctx, []string{statement})
		return err
	})
	switch {
	case busy:
		note("the server is still working on it")
		return failure
	case err == nil:
		err = k.clear(ctx, 0, report, note)
	}
	if err != nil {
		note("an invalid index " + k.a.Index.Name + " may be left, which costs writes and serves nothing: undo this " +
			"action, or drop it: " + k.removal())
		return errors.Join(failure, err)
	}
	return failure
}

// blockDrop looks for what would be lost with an index besides itself.
func (x index) blockDrop(p *change.Preview) {
	switch {
	case x.constraint:
		p.Block("a constraint rests on the index %s", x.Name)
	case x.identity:
		p.Block("the index %s is the replica identity of its table", x.Name)
	case x.partition:
		p.Block("the index %s is part of one of a partitioned table", x.Name)
	}
}

// serves is schema.Serves for a server on which names of columns differ by their case.
func serves(a, b schema.Index) bool {
	if len(a.Parts) < len(b.Parts) || b.Unique && !(a.Unique && len(a.Parts) == len(b.Parts)) {
		return false
	}
	for i, p := range b.Parts {
		if q := a.Parts[i]; q.Column != p.Column || q.Expr != p.Expr || q.Desc != p.Desc {
			return false
		}
	}
	return true
}
