package catalog

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
)

// Bounds of what is kept, bytes as schema.Table.Memory counts them. Ten thousand tables of twenty columns and five
// indexes take some 50 MB.
const (
	mostOfTable   = 2 << 20
	mostOfServer  = 48 << 20
	mostOfServers = 256 << 20
)

// Caches are those of several servers, by whatever name. All together they keep at most mostOfServers: each has an
// equal part of that, and what the others leave.
type Caches struct {
	mu sync.Mutex
	of map[string]*Cache
}

// Of returns the cache of a name.
func (s *Caches) Of(name string) *Cache {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]*Cache{}
	}
	c := s.of[name]
	if c == nil {
		c = &Cache{among: s}
		s.of[name] = c
	}
	return c
}

// Keep drops the caches of other names.
func (s *Caches) Keep(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.of {
		if !slices.Contains(names, name) {
			delete(s.of, name)
		}
	}
}

// room returns what a cache may keep.
func (s *Caches) room(c *Cache) int {
	left := mostOfServers - s.bytes() + int(c.bytes.Load())
	return min(mostOfServer, max(mostOfServers/max(1, len(s.of)), left))
}

// bytes returns what all take.
func (s *Caches) bytes() (n int) {
	for _, c := range s.of {
		n += int(c.bytes.Load())
	}
	return n
}

// settle takes from those that have more than their part when all have too much. A cache in use sees to that itself.
func (s *Caches) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.of {
		if s.bytes() <= mostOfServers {
			return
		}
		if c.mu.TryLock() {
			c.shrink(s.room(c))
			c.mu.Unlock()
		}
	}
}

// Cache keeps what All read of the tables of one server, so that the next time it reads only those that have changed:
// rebuilt, altered, made anew, or grown by a tenth. Changes that a server does not show in its lists of tables are seen
// when a table is read again after staleAfter: on MariaDB and MySQL before 8.0 new names and defaults of columns,
// foreign keys that were dropped and indexes that were ignored, everywhere triggers. Tables of which the lists tell
// nothing, as those of other engines than InnoDB, are read each time.
//
// When there is no room for all, the tables with the longest descriptions are put aside: of the others there are more.
type Cache struct {
	among *Caches // nil for one that is alone

	mu     sync.Mutex
	of     string // the server that tables are of
	tables map[schema.Ref]kept
	bytes  atomic.Int64 // that tables take
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
		c.bytes.Store(0)
	}
	return c
}

// room returns how many bytes the cache may keep.
func (c *Cache) room() int {
	if c.among == nil {
		return mostOfServer
	}
	c.among.mu.Lock()
	defer c.among.mu.Unlock()
	return c.among.room(c)
}

// kept is a table as it was read.
type kept struct {
	table schema.Table // of a view only that it is one, of a table that was put aside its name
	bytes int          // that it takes or, put aside, would take
	aside bool
	mark  uint64 // 0: nothing shows whether the table has changed
	pages uint64 // as the server's statistics had it then
	read  time.Time
}

// changed reports whether a table may be another one than the one that was read.
func (k kept) changed(e entry) bool {
	switch {
	case k.table.View:
		return e.mark != 0 // only tables have marks
	case k.aside: // else it would be read each time, in vain
		return k.mark != e.mark
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
		c.forget(ref)
	}
	for _, t := range tables {
		e := listed[t.Ref]
		if t.View {
			t = schema.Table{Ref: t.Ref, View: true}
		}
		c.forget(t.Ref)
		k := kept{table: t, bytes: t.Memory(), mark: e.mark, pages: e.pages, read: at}
		if k.bytes > mostOfTable {
			c.putAside(t.Ref, e, at)
			continue
		}
		c.bytes.Add(int64(k.bytes))
		c.tables[t.Ref] = k
	}
	c.shrink(c.room())
	if c.among != nil {
		c.among.settle()
	}
}

// putAside notes that a table's description is too long to be kept.
func (c *Cache) putAside(ref schema.Ref, e entry, at time.Time) {
	if c.tables == nil {
		c.tables = map[schema.Ref]kept{}
	}
	c.forget(ref)
	c.tables[ref] = kept{
		table: schema.Table{Ref: ref}, bytes: mostOfTable + 1, aside: true, mark: e.mark,
		pages: e.pages, read: at,
	}
}

func (c *Cache) forget(ref schema.Ref) {
	if k, ok := c.tables[ref]; ok && !k.aside {
		c.bytes.Add(-int64(k.bytes))
	}
	delete(c.tables, ref)
}

// shrink puts tables aside until the others take no more than the room.
func (c *Cache) shrink(room int) {
	over := int(c.bytes.Load()) - room
	if over <= 0 {
		return
	}
	var held []schema.Ref
	for ref, k := range c.tables {
		if !k.aside {
			held = append(held, ref)
		}
	}
	slices.SortFunc(held, func(a, b schema.Ref) int { return c.tables[b].bytes - c.tables[a].bytes })
	for _, ref := range held {
		if over <= 0 {
			return
		}
		k := c.tables[ref]
		over -= k.bytes
		c.bytes.Add(-int64(k.bytes))
		k.table, k.aside = schema.Table{Ref: ref}, true
		c.tables[ref] = k
	}
}
