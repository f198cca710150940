package catalog

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/schema"
)

// entry is what the server's lists show of a table, without opening it.
type entry struct {
	mark  uint64 // is another one when the table has changed; 0 where nothing shows that
	pages uint64 // of InnoDB, by its persistent statistics; 0 where they may not be read
}

// These bound the tables that are kept of a server's lists: it has as many as it says it has. Names have 64 characters.
const (
	mostListed  = 200_000
	longestName = 256
)

// list reads which tables and views of users there are, with marks when somebody will compare them. With an error the
// list is not complete.
func (r *reader) list(ctx context.Context, marks bool) (map[schema.Ref]entry, error) {
	listed, more := map[schema.Ref]entry{}, false
	add := func(ref schema.Ref, e entry) {
		if _, ok := listed[ref]; ok || len(listed) < mostListed && max(len(ref.Schema), len(ref.Table)) <= longestName {
			listed[ref] = e
		} else {
			more = true
		}
	}
	var err error
	if r.dictionary() {
		err = r.described(ctx, add)
	} else {
		err = each(ctx, r.q, "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA "+
			ofUsers, nil, func(x row) {
			add(schema.Ref{Schema: x.text(0), Table: x.text(1)}, entry{})
		})
		if err == nil && marks {
			r.innodb(ctx, listed)
		}
	}
	if err == nil && more {
		err = fmt.Errorf("it has more than %d", mostListed)
	}
	_ = each(ctx, r.q, "SELECT database_name, table_name, clustered_index_size + sum_of_other_index_sizes FROM "+
		"mysql.innodb_table_stats", nil, func(x row) {
		name, _, _ := strings.Cut(x.text(1), "#P#") // "t#P#p0" and "t#p#p0" are partitions
		name, _, _ = strings.Cut(name, "#p#")
		ref := schema.Ref{Schema: x.text(0), Table: name}
		if e, ok := listed[ref]; ok {
			e.pages += number(x, 2).Or(0)
			listed[ref] = e
		}
	}) // without the privilege, or on a very old server, any order is as good
	return listed, err
}

// described lists the tables of a server with a dictionary. It asks for as many schemas at once as are quickly
// answered: a condition that is not on the schema alone would make the server look at all tables.
func (r *reader) described(ctx context.Context, add func(schema.Ref, entry)) error {
	var schemas []string
	err := each(ctx, r.q, "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME "+
		ofUsers, nil, func(x row) {
		if len(schemas) < mostListed && len(x.text(0)) <= longestName {
			schemas = append(schemas, x.text(0))
		}
	})
	for n := 1; err == nil && len(schemas) > 0; {
		n = min(n, len(schemas))
		args := make([]any, n)
		for i, s := range schemas[:n] {
			args[i] = s
		}
		began := time.Now()
		// Any change of a table gives it a new time, in whole seconds: one of this second may be followed by another.
		err = each(ctx, r.q, "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, CREATE_TIME < NOW() - INTERVAL 1 SECOND, "+
			"CREATE_TIME, ENGINE, ROW_FORMAT,"+
			" TABLE_COLLATION, CREATE_OPTIONS FROM information_schema.TABLES WHERE TABLE_SCHEMA IN (?"+
			strings.Repeat(",?", n-1)+")", args, func(x row) {
			var e entry
			if x.text(3) == "1" {
				e.mark = hash(x[4:])
			}
			if x.text(2) == "BASE TABLE" {
				add(schema.Ref{Schema: x.text(0), Table: x.text(1)}, e)
			}
		})
		schemas = schemas[n:]
		switch took := time.Since(began); {
		case took < chunkTime/4:
			n = min(2*n, largestChunk)
		case took > chunkTime:
			n = max(1, n/2)
		}
	}
	return err
}

// innodb reads marks from InnoDB's own dictionary: a table that was rebuilt or made anew has another number, an index
// that was added too. Without PROCESS, or when there is no time for it, no table gets a mark.
func (r *reader) innodb(ctx context.Context, listed map[schema.Ref]entry) {
	const name = "CONVERT(CONVERT(BINARY %s USING filename) USING utf8mb4)" // names in it are those of files
	id := map[string]schema.Ref{}
	marks := map[schema.Ref]uint64{}
	err := each(ctx, r.q, "SELECT "+strings.Replace(name, "%s", "SUBSTRING_INDEX(NAME, '/', 1)", 1)+", "+
		// what follows # is a partition
		strings.Replace(name, "%s", "SUBSTRING_INDEX(SUBSTRING_INDEX(NAME, '/', -1), '#', 1)", 1)+
		", TABLE_ID, N_COLS, FLAG, SPACE FROM information_schema.INNODB_SYS_TABLES", nil, func(x row) {
		ref := schema.Ref{Schema: x.text(0), Table: x.text(1)}
		if _, ok := listed[ref]; ok && len(id) < 2*mostListed {
			id[x.text(2)] = ref
			marks[ref] += hash(x[2:])
		}
	})
	if err != nil {
		return
	}
	err = each(ctx, r.q, "SELECT TABLE_ID, INDEX_ID, NAME, TYPE, N_FIELDS FROM information_schema.INNODB_SYS_INDEXES",
		nil, func(x row) {
			if ref, ok := id[x.text(0)]; ok {
				marks[ref] += hash(x)
			}
		})
	if err != nil {
		return
	}
	for ref, m := range marks {
		e := listed[ref]
		e.mark = max(m, 1)
		listed[ref] = e
	}
}

func hash(x row) uint64 {
	h := fnv.New64a()
	for _, f := range x {
		_, _ = h.Write([]byte(f.String))
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}
