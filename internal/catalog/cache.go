package catalog

import (
	"slices"
	"sync"
	"time"

	"dyno/internal/known"
	"dyno/internal/schema"
)

// Cache keeps what All read of the tables of one server, so that the next time it reads only those that have changed: rebuilt, altered,
// made anew, or grown by a tenth. Changes that a server does not show in its lists of tables are seen when a table is read again after
// staleAfter: on MariaDB and MySQL before 8.0 new names and defaults of columns, foreign keys that were dropped and indexes that were
// ignored, everywhere triggers. Tables of which the lists tell nothing, as those of other engines than InnoDB, are read each time.
type Cache struct {
	mu     sync.Mutex
	of     string // the server that tables are of
	tables map[schema.Ref]kept
}

// staleAfter is how old what was read of a table may become although nothing shows that the table has changed.
const staleAfter = 6 * time.Hour

// Of returns the cache, emptied when it held tables of another server than the one with this identity. Nil stays nil.
func (c *Cache) Of(server string) *Cache {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of != server || server == "" {
		c.of, c.tables = server, nil
	}
	return c
}

// kept is a table as it was read.
type kept struct {
	table schema.Table // of a view only that it is one
	mark  uint64       // 0: nothing shows whether the table has changed
	pages uint64       // as the server's statistics had it then
	read  time.Time
}

// changed reports whether a table may be another one than the one that was read.
func (k kept) changed(e entry) bool {
	if k.table.View {
		return e.mark != 0 // only tables have marks
	}
	return k.mark == 0 || k.mark != e.mark
}

func (k kept) old(now time.Time) bool { return now.Sub(k.read) > staleAfter }

// grown reports whether the statistics differ by more than a tenth from those when the table was read.
func (k kept) grown(e entry) bool {
	return max(e.pages, k.pages)-min(e.pages, k.pages) > max(8, k.pages/10)
}

// at returns a copy of the table as of now: whoever gets it may fill in more.
func (k kept) at(now time.Time) schema.Table {
	t := k.table
	t.Columns, t.Indexes, t.Triggers = slices.Clone(t.Columns), slices.Clone(t.Indexes), slices.Clone(t.Triggers)
	if age, ok := t.AgeSec.Get(); ok {
		t.AgeSec = known.Of(age + uint64(max(0, now.Sub(k.read)).Seconds()))
	}
	return t
}

// keep takes up what was read. A table that was asked for and did not come is gone, or may not be seen.
func (c *Cache) keep(asked []schema.Ref, tables []schema.Table, listed map[schema.Ref]entry, at time.Time) {
	if c.tables == nil {
		c.tables = map[schema.Ref]kept{}
	}
	for _, ref := range asked {
		delete(c.tables, ref)
	}
	for _, t := range tables {
		e := listed[t.Ref]
		if t.View {
			t = schema.Table{Ref: t.Ref, View: true}
		}
		c.tables[t.Ref] = kept{table: t, mark: e.mark, pages: e.pages, read: at}
	}
}
