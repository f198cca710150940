package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
)

// Inventory is what All returns.
type Inventory struct {
	Tables []schema.Table
	// Left counts the tables of users that are not among Tables, and views among them where the server names both
	// alike.
	Left known.Value[int]
	Why  string // why some are left out, "" when none are
	Over bool   // some are left out because their descriptions find no room
	Read int    // how many were read from the server now; the others of Tables had not changed since they were
}

// Tables are read in chunks, so that no statement is long and what was read when the time is up counts. After each
// chunk the server rests as long as it worked.
const (
	firstChunk = 100
	// what a chunk should take, of six statements: the next one is made larger or smaller to match
	chunkTime = 250 * time.Millisecond
	// largestChunk bounds a chunk of servers that look through the folder of a schema: for each file they compare all
	// names asked for. What is read is pinned until all of its chunk was.
	largestChunk, largestDictionaryChunk = mostPinned, 1000
)

// All returns the tables of users, those that skip names left out, with columns, indexes, keys, triggers and
// statistics: at most limit of them, the largest first where the server's statistics of InnoDB may be read. It stops
// reading when the server has worked on it for the given time, or when more would push tables out of the server's cache
// of open tables. Views are left out.
//
// All goes on where it stopped when the cache is given again, and then reads only what has changed; see Cache. Without
// one (nil) it reads everything.
//
// Names are read first, for which no server opens a table; MariaDB and MySQL before 8.0 open each table for the rest. q
// must be one connection, because what it opened is counted by the server's session, and should have a time limit of
// its own, for what the server does goes on when this program stops waiting. An error means that nothing was read.
func All(
	ctx context.Context, q Querier, c *Cache, limit int, most time.Duration, skip []schema.Ref,
) (Inventory, error) {
	ctx, cancel := context.WithTimeout(ctx, 6*most) // a server's own limit comes first
	defer cancel()
	if c == nil {
		c = &Cache{}
	} else {
		c.mu.Lock()
		defer c.mu.Unlock()
	}
	r := reader{q: q, now: time.Now()}
	var err error
	if r.has, err = columnsOf(ctx, q, "COLUMNS", "STATISTICS"); err != nil {
		return Inventory{}, fmt.Errorf("read tables: %w", err)
	}
	listCtx, stop := context.WithTimeout(ctx, 3*most)
	listed, short := r.list(listCtx, c.of != "")
	late := listCtx.Err()
	stop()
	if late != nil { // which has cost the connection
		return Inventory{}, fmt.Errorf("list tables: %w", late)
	}
	if short != nil && len(listed) == 0 {
		return Inventory{}, fmt.Errorf("list tables: %w", short)
	}
	if short == nil {
		for ref := range c.tables {
			if _, there := listed[ref]; !there {
				c.forget(ref)
			}
		}
	}
	for _, ref := range skip {
		delete(listed, ref)
	}
	refs := ranked(listed)
	refs = slices.DeleteFunc(refs, func(ref schema.Ref) bool {
		k := c.tables[ref]
		return k.table.View && !k.changed(listed[ref]) && !k.old(r.now)
	})
	asked := refs[:min(max(0, limit), len(refs))]
	unread, why, err := r.read(ctx, c, listed, asked, most)
	inv := Inventory{Read: r.done}
	aside, bytes := 0, 0
	for _, ref := range asked {
		switch k, ok := c.tables[ref]; {
		case !ok || k.table.View:
		case k.aside:
			aside++
			bytes += k.bytes
		case !k.read.Before(r.now) || !k.changed(listed[ref]):
			inv.Tables = append(inv.Tables, k.at(r.now))
		}
	}
	inv.Left = known.Of(len(refs) - len(asked) + unread + aside)
	say := func(format string, args ...any) {
		inv.Why = strings.TrimPrefix(inv.Why+"; "+fmt.Sprintf(format, args...), "; ")
	}
	switch {
	case unread > 0:
		say("%d of %d tables were read in detail: %s", len(asked)-unread, len(refs), why)
	case len(refs) > limit:
		say("%d of %d tables, the largest: the others are not examined", limit, len(refs))
	}
	if aside > 0 {
		inv.Over = true
		say("not observed: %d of %d tables, those with the longest descriptions: there is no room for %d MB more",
			aside, len(refs), bytes>>20)
	}
	if r.busy {
		say("tables that are being changed, or cannot be opened, were left out")
	}
	if short != nil {
		inv.Left = known.None[int]()
		say("the server did not list all tables: %v", short)
	}
	if err != nil && len(inv.Tables) == 0 {
		return Inventory{}, fmt.Errorf("read tables: %w", cmp.Or(ctx.Err(), err))
	}
	return inv, nil
}

// reader reads tables for one inventory.
type reader struct {
	q    Querier
	has  map[string]bool
	now  time.Time
	done int  // tables read
	busy bool // some could not be, because they are in use
}

// dictionary reports whether the server has a data dictionary, as MySQL 8.0 and later: it opens no table to describe
// it.
func (r *reader) dictionary() bool { return r.has["STATISTICS.IS_VISIBLE"] }

// read reads what the cache does not hold as it is now, and then what it has held for long. It returns how many tables
// the cache does not hold then, and why.
func (r *reader) read(ctx context.Context, c *Cache, listed map[schema.Ref]entry, refs []schema.Ref,
	most time.Duration,
) (unread int, why string, err error) {
	var missing, old []schema.Ref
	free := c.room() - int(c.bytes.Load())
	for _, ref := range refs {
		k, ok := c.tables[ref]
		switch e := listed[ref]; {
		case ok && k.aside && k.bytes <= min(free, mostOfTable): // there is room again
			free -= k.bytes
			missing = append(missing, ref)
		case !ok || k.changed(e):
			missing = append(missing, ref)
		case k.old(r.now) || k.grown(e):
			old = append(old, ref)
		}
	}
	if len(missing)+len(old) == 0 {
		return 0, "", nil
	}
	defer func() {
		unread = max(0, len(missing)-r.done)
		if err != nil {
			why = err.Error()
		}
	}()
	room, err := r.room(ctx)
	if err != nil {
		return 0, "", err
	}
	if room.most < len(missing)+len(old) {
		room.openFirst(ctx, r.q, missing, old)
	}
	largest := largestChunk
	if r.dictionary() {
		largest = largestDictionaryChunk
	}
	todo, size := slices.Concat(missing, old), min(firstChunk, largest)
	for worked := time.Duration(0); ; {
		n := min(size, len(todo), room.left())
		if n <= 0 {
			return 0, room.why(), nil
		}
		began := time.Now()
		tables, err := whole(ctx, r.q, r.has, todo[:n])
		took := time.Since(began)
		if errors.Is(err, errBusy) {
			r.busy, err = true, nil
		}
		switch long := errors.Is(err, errLong); {
		case long && n > 1: // of fewer it says less
			largest = n / 2
			n = 0
		case long:
			c.putAside(todo[0], listed[todo[0]], began)
		case err != nil:
			return 0, "", err
		default:
			c.keep(todo[:n], tables, listed, began)
		}
		r.done, todo = r.done+n, todo[n:]
		worked += took
		switch {
		case len(todo) == 0:
			return 0, "", nil
		case worked > most:
			return 0, fmt.Sprintf("that took the server %v", worked.Round(100*time.Millisecond)), nil
		case took < chunkTime/2 && 2*columnsIn(tables) < mostRows:
			size *= 2
		case took > 2*chunkTime:
			// smaller ones would not be quicker where a folder is looked through for each
			size = max(size/2, firstChunk/2)
		}
		size = min(size, largest)
		if err := room.look(ctx, r.q); err != nil {
			return 0, "", err
		}
		select {
		case <-ctx.Done():
			return 0, "", ctx.Err()
		case <-time.After(took):
		}
	}
}

// columnsIn returns how many columns tables have together: rows of the longest answer about them, as a rule.
func columnsIn(tables []schema.Table) (n int) {
	for _, t := range tables {
		n += len(t.Columns)
	}
	return n
}

// whole reads some tables, with a few questions for each schema. With errBusy come those that are not in use.
func whole(ctx context.Context, q Querier, has map[string]bool, refs []schema.Ref) (out []schema.Table, err error) {
	names := map[string][]string{}
	var schemas []string
	for _, r := range refs {
		if names[r.Schema] == nil {
			schemas = append(schemas, r.Schema)
		}
		names[r.Schema] = append(names[r.Schema], r.Table)
	}
	var busy error
	for _, s := range schemas {
		tables, err := describe(ctx, q, has, part{schema: s, names: names[s]},
			func(found []schema.Table) []schema.Table {
				return slices.DeleteFunc(found, func(t schema.Table) bool { return t.Schema != s })
			})
		if errors.Is(err, errBusy) {
			busy, err = err, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, tables...)
	}
	return out, busy
}

// ranked orders tables: those of the largest schema first, the largest first in each. Without the right to read the
// statistics it is the order of names.
func ranked(listed map[schema.Ref]entry) []schema.Ref {
	sum := map[string]uint64{}
	refs := make([]schema.Ref, 0, len(listed))
	for r, e := range listed {
		sum[r.Schema] += e.pages
		refs = append(refs, r)
	}
	slices.SortFunc(refs, func(a, b schema.Ref) int {
		return cmp.Or(cmp.Compare(sum[b.Schema], sum[a.Schema]), strings.Compare(a.Schema, b.Schema),
			cmp.Compare(listed[b].pages, listed[a].pages), strings.Compare(a.Table, b.Table))
	})
	return refs
}
