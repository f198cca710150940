package loader

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/schema"
)

// locate finds the directory with the files of the plan's tables. Without one it says why.
func (c *cache) locate(ctx context.Context, t *target.Target, db string) (why string) {
	if !simpleName.MatchString(db) {
		return "the name of database " + db + " is written differently in the file system"
	}
	if v, ok := t.Variable("innodb_file_per_table"); ok && v != "ON" && v != "1" {
		return "the server keeps all tables in one file (innodb_file_per_table)"
	}
	for _, v := range []string{"innodb_encrypt_tables", "default_table_encryption"} {
		if on, ok := t.Variable(v); ok && on != "OFF" && on != "0" {
			return "the server encrypts tables"
		}
	}
	// As the server sees it: a container has a file system of its own.
	dir, err := t.OpenDir(ctx, filepath.Join(t.Facts().Datadir, db))
	if err != nil {
		return err.Error()
	}
	here, err := dir.Stat(".")
	if err == nil {
		if f, ok := platform.FileOf(here); !ok || os.Geteuid() != 0 && f.UID != os.Geteuid() {
			err = errors.New("the data directory belongs to another user")
		}
	}
	if err != nil {
		dir.Close()
		return err.Error()
	}
	c.close()
	c.tables = dir
	return ""
}

var (
	simpleName = lazyregexp.New(`^[A-Za-z0-9_]+$`)
	// What makes a table more than one plain tablespace, or its file unlike what a copy of it is.
	notPlain = lazyregexp.New(
		`(?i)\b(PARTITION|FULLTEXT|SPATIAL|ENCRYPT\w*|TABLESPACE|DIRECTORY|PAGE_COMPRESS\w*|COMPRESSION|SYSTEM VERSIONING)\b`)
	// Statements that leave on an empty table what they leave on a full one, apart from the rows.
	rowless    = lazyregexp.New(`(?i)^(CREATE (UNIQUE )?INDEX|ALTER TABLE|SET) `)
	primaryKey = lazyregexp.New(`PRIMARY KEY \(([^)]*)\)`)
)

// keyFor returns the key of a table that has just been created, "" when it cannot be cached.
func (c *cache) keyFor(t *target.Target, x *part) string {
	if c.tables == nil || x.text == "" || !x.innodb || x.Rows == 0 || !simpleName.MatchString(x.Name) ||
		notPlain.MatchString(x.text) {
		return ""
	}
	for _, q := range x.After {
		if !rowless.MatchString(q) || notPlain.MatchString(q) {
			return ""
		}
	}
	parts := []any{1, t.Facts().Raw, t.Facts().Comment, x.text, x.What}
	for _, name := range []string{
		"innodb_page_size", "innodb_default_row_format", "innodb_checksum_algorithm",
		"innodb_compression_algorithm", "version_compile_machine",
	} {
		v, _ := t.Variable(name)
		parts = append(parts, v)
	}
	return keyOf(parts...)
}

// hit is a table that is in the cache.
type hit struct {
	*part
	*entry
}

// restore takes tables from the cache. A table that does not come back as it was is made anew and loaded like any
// other.
func (p *preparation) restore(ctx context.Context) error {
	if why := p.cache.locate(ctx, p.t, p.plan.Schema); why != "" {
		p.cache.remark("tables are not cached: %s", why)
		return nil
	}
	var hits []hit
	var bytes int64
	for _, x := range p.parts {
		if !x.fresh {
			continue
		}
		if x.key = p.cache.keyFor(p.t, x); x.key == "" {
			continue
		}
		if e := p.cache.find(x.key); e != nil {
			hits = append(hits, hit{x, e})
			bytes += e.size()
		}
	}
	if len(hits) == 0 {
		return nil
	}
	p.report.Begin("copying tables from the cache", "bytes", int(bytes))
	// Foreign keys tie tables to others, so that all of them have their indexes and constraints before the first loses
	// its file.
	err := each(ctx, p, hits, false, func(ctx context.Context, s *target.Session, h hit) error {
		if err := p.step(ctx, s, h.Name, restoring); err != nil {
			return err
		}
		for _, q := range h.After {
			if _, err := s.Exec(ctx, q); err != nil {
				return fmt.Errorf("%s: %w", q, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := each(ctx, p, hits, false, p.restoreTable); err != nil {
		return err
	}
	p.report.End()
	return nil
}

func (p *preparation) restoreTable(ctx context.Context, s *target.Session, h hit) error {
	err := p.replace(ctx, s, h)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil || serverGone(err) {
		return err
	}
	p.cache.remark("table %s is not taken from the cache but loaded: %v", h.Name, err)
	p.cache.remove(h.Key)
	p.cache.sweep([]schema.Ref{{Table: h.Name}})
	for _, q := range []string{
		"SET SESSION foreign_key_checks=0", "DROP TABLE " + ddl.Quote(h.Name), h.Create,
		"SET SESSION foreign_key_checks=1",
	} {
		if _, err := s.Exec(ctx, q); err != nil {
			return fmt.Errorf("re-create table %s: %w", h.Name, err)
		}
	}
	return p.step(ctx, s, h.Name, 0)
}

// sweep removes the files that a copy which came to no end left for tables without one of their own.
func (c *cache) sweep(refs []schema.Ref) {
	for _, r := range refs {
		for _, suffix := range suffixes {
			_ = c.tables.Remove(r.Table + suffix)
		}
	}
}

var errOther = errors.New("the copy is not what was kept")

// replace puts the copy in the place of the table's own file.
func (p *preparation) replace(ctx context.Context, s *target.Session, h hit) error {
	name := ddl.Quote(h.Name)
	to := p.cache.tables
	old, err := to.Lstat(h.Name + ".ibd")
	if err != nil {
		return err
	}
	owner, ok := platform.FileOf(old)
	if !ok {
		return fmt.Errorf("%s.ibd has no owner", h.Name)
	}
	for _, q := range []string{"SET SESSION foreign_key_checks=0", "ALTER TABLE " + name + " DISCARD TABLESPACE"} {
		if _, err := s.Exec(ctx, q); err != nil {
			return err
		}
	}
	kept, err := os.OpenRoot(filepath.Join(p.cache.Dir, h.Key))
	if err != nil {
		return err
	}
	defer kept.Close()
	for _, suffix := range suffixes {
		got, err := copyFile(to, h.Name+suffix, kept, "table"+suffix, old.Mode().Perm(), func(n int) error {
			p.report.Add(n)
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		if got != h.Files[suffix] {
			return fmt.Errorf("%s: %w", "table"+suffix, errOther)
		}
		if err := to.Lchown(h.Name+suffix, owner.UID, owner.GID); err != nil {
			return err
		}
	}
	// The server leaves the description behind.
	defer to.Remove(h.Name + ".cfg") //nolint:errcheck // nothing depends on it
	for _, q := range []string{"ALTER TABLE " + name + " IMPORT TABLESPACE", "SET SESSION foreign_key_checks=1"} {
		if _, err := s.Exec(ctx, q); err != nil {
			return err
		}
	}
	rows, sum, err := sumsOf(ctx, s, h.part)
	if err != nil {
		return err
	}
	if rows != h.Rows || sum != h.Sum {
		return errOther
	}
	_, err = s.Exec(ctx, fmt.Sprintf("UPDATE %s SET done = last, loaded = IF(first = 1, %d, 0) WHERE name = %s",
		recordRef(p.plan), rows, literal(h.Name)))
	if err != nil {
		return err
	}
	if err := p.analyze(ctx, s, h.part); err != nil {
		return err
	}
	for i := range h.marks {
		h.marks[i].done = h.marks[i].last
	}
	h.cached = true
	p.loaded.Add(int64(rows))
	return nil
}

const summed = 1000 // rows at each end of a table

// sumsOf counts the rows of a table and sums up some of them.
func sumsOf(ctx context.Context, s *target.Session, x *part) (rows int, sum string, err error) {
	name := ddl.Quote(x.Name)
	if rows, err = askNumber(ctx, s, "SELECT COUNT(*) FROM "+name); err != nil {
		return 0, "", err
	}
	order := ""
	if m := primaryKey.FindStringSubmatch(x.text); m != nil {
		order = m[1]
	} else if x.Key != "" {
		order = ddl.Quote(x.Key)
	} else {
		return rows, "", nil
	}
	for _, direction := range []string{"", " DESC"} {
		by := strings.ReplaceAll(order, ",", direction+",") + direction
		q := "SELECT COALESCE(BIT_XOR(CRC32(CONCAT_WS('|', " + quoted(x.Columns) + "))), 0) FROM (SELECT * FROM " +
			name +
			" ORDER BY " + by + " LIMIT " + strconv.Itoa(summed) + ") some"
		_, err := s.Query(ctx, q, func(row []driver.Value) { sum += fmt.Sprint(plain(row[0]), " ") })
		if err != nil {
			return 0, "", err
		}
	}
	return rows, sum, nil
}

// keep copies the tables that were loaded into the cache. That it cannot is no error.
func (p *preparation) keep(ctx context.Context) error {
	list := which(p.parts, func(x *part) bool { return x.key != "" && !x.cached })
	if len(list) == 0 {
		return nil
	}
	p.report.Begin("copying tables to the cache", "tables", len(list))
	err := p.each(ctx, list, false, func(ctx context.Context, s *target.Session, x *part) error {
		err := p.keepTable(ctx, s, x)
		if err != nil && ctx.Err() == nil && !serverGone(err) {
			p.cache.remark("table %s is not cached: %v", x.Name, err)
			err = nil
		}
		p.report.Add(1)
		return err
	})
	if err == nil {
		p.report.End()
	}
	return err
}

func (p *preparation) keepTable(ctx context.Context, s *target.Session, x *part) (err error) {
	st, err := p.cache.tables.Lstat(x.Name + ".ibd")
	if err != nil {
		return err
	}
	if st.Size() > p.cache.Max {
		return fmt.Errorf("it has %d bytes, and all copies together may have %d", st.Size(), p.cache.Max)
	}
	e := &entry{Key: x.key, Table: x.Name, Server: p.t.Facts().Raw, Files: map[string]copied{}}
	if e.Rows, e.Sum, err = sumsOf(ctx, s, x); err != nil {
		return err
	}
	dir, err := p.cache.begin()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer to.Close()
	if _, err := s.Exec(ctx, "FLUSH TABLES "+ddl.Quote(x.Name)+" FOR EXPORT"); err != nil {
		return err
	}
	for _, suffix := range suffixes {
		e.Files[suffix], err = copyFile(to, "table"+suffix, p.cache.tables, x.Name+suffix, 0o600,
			func(int) error { return ctx.Err() })
		if err != nil {
			break
		}
	}
	if _, uerr := s.Exec(ctx, "UNLOCK TABLES"); err == nil {
		err = uerr
	}
	if err != nil {
		return err
	}
	return p.cache.commit(dir, e)
}
