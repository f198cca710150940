package loader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/workload"
)

// recordTable keeps, beside the tables, what an unfinished prepare has loaded. Rows and record are committed together.
// It goes away when the last prepare in its database is complete.
const recordTable = "dyno_prepare"

const recordCreate = "CREATE TABLE IF NOT EXISTS %s (name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT " +
	"NULL, first BIGINT NOT NULL, last BIGINT NOT NULL, " +
	"done BIGINT NOT NULL, loaded BIGINT NOT NULL, steps INT NOT NULL, what CHAR(32) CHARACTER SET ascii NOT NULL, " +
	"PRIMARY KEY (name, first)) ENGINE=InnoDB " +
	"COMMENT='Dyno: tables whose prepare is not complete; dyno load … prepare resumes them'"

// mark is a line of the record: a span of a table.
type mark struct {
	span
	rows  int    // in the table from this span; a number may stand for several
	steps int    // of the table, in the line of its first span: how many statements of After have been carried out
	what  string // a hash of everything that decides the rows
}

// Values of mark.steps beside the count.
const restoring = -1 // the table's file is being replaced from the cache

// span is numbers of a table's rows that one session loads in order; done is the last that is in.
type span struct {
	table       string
	first, last int
	done        int
}

func recordRef(plan *workload.Plan) string {
	return ddl.Name(schema.Ref{Schema: plan.Schema, Table: recordTable})
}

// marks reads the record; there is none when nothing is unfinished.
func marks(ctx context.Context, t *target.Target, db string) (map[string][]mark, error) {
	ref := schema.Ref{Schema: db, Table: recordTable}
	rows, err := t.DB().QueryContext(ctx, sqltext.Tagged("prepare", "", "SELECT name, first, last, done, loaded, "+
		"steps, what FROM "+ddl.Name(ref)+" ORDER BY name, first"))
	if n, ok := target.ServerErrorNumber(err); ok && (n == noSuchTable || n == noSuchDatabase) {
		return nil, nil
	}
	if err != nil {
		return nil, t.Wrap("read "+ref.String()+" on", err)
	}
	defer rows.Close()
	list := map[string][]mark{}
	for rows.Next() {
		var m mark
		if err := rows.Scan(&m.table, &m.first, &m.last, &m.done, &m.rows, &m.steps, &m.what); err != nil {
			return nil, t.Wrap("read "+ref.String()+" on", err)
		}
		if m.steps < restoring {
			return nil, fmt.Errorf("%s says that %d steps of table %s are done: it was changed since; Fix: drop it "+
				"and prepare again",
				ref, m.steps, ddl.Quote(m.table))
		}
		list[m.table] = append(list[m.table], m)
	}
	if err := rows.Err(); err != nil {
		return nil, t.Wrap("read "+ref.String()+" on", err)
	}
	return list, nil
}

// isThere reports whether err says that an index or a constraint exists already.
func isThere(err error) bool {
	switch n, _ := target.ServerErrorNumber(err); n {
	case duplicateIndex, 1022, 1826: // ER_DUP_KEY and ER_FK_DUP_NAME, for constraints
		return true
	case 1005: // ER_CANT_CREATE_TABLE: MariaDB, with the number of the engine's error
		return strings.Contains(err.Error(), "errno: 121")
	}
	return false
}

const (
	noSuchDatabase = 1049 // ER_BAD_DB_ERROR
	tableExists    = 1050 // ER_TABLE_EXISTS_ERROR
	duplicateKey   = 1062 // ER_DUP_ENTRY
	duplicateIndex = 1061 // ER_DUP_KEYNAME

	rowReferenced      = 1217 // ER_ROW_IS_REFERENCED
	rowReferenced2     = 1451 // ER_ROW_IS_REFERENCED_2
	parentOfForeignKey = 3730 // ER_FK_CANNOT_DROP_PARENT
)

// exclusive keeps other prepares of the database away while f makes or drops the record.
func exclusive(ctx context.Context, t *target.Target, db string,
	f func(exec func(sql string, args ...any) error) error,
) error {
	c, err := t.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	sum := sha256.Sum256([]byte(db))
	name := "dyno-prepare-" + hex.EncodeToString(sum[:16])
	var got int
	if err := c.QueryRowContext(ctx, sqltext.Tagged("prepare", "", "SELECT COALESCE(GET_LOCK(?, 30), 0)"), name).
		Scan(&got); err != nil {
		return t.Wrap("take a lock on", err)
	}
	if got != 1 {
		return fmt.Errorf("another prepare is running in database %s: wait for it", db)
	}
	defer func() {
		var n any
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
		defer cancel()
		_ = c.QueryRowContext(ctx, sqltext.Tagged("prepare", "", "SELECT RELEASE_LOCK(?)"), name).Scan(&n)
	}()
	return f(func(sql string, args ...any) error {
		_, err := c.ExecContext(ctx, sqltext.Tagged("prepare", "", sql), args...)
		return err
	})
}

const marksAtOnce = 500

// record writes the lines of tables that are about to be made.
func (p *preparation) record(ctx context.Context, list []mark) error {
	if len(list) == 0 {
		return nil
	}
	err := exclusive(ctx, p.t, p.plan.Schema, func(exec func(string, ...any) error) error {
		if err := exec(fmt.Sprintf(recordCreate, recordRef(p.plan))); err != nil {
			return err
		}
		for len(list) > 0 {
			some := list[:min(len(list), marksAtOnce)]
			list = list[len(some):]
			var args []any
			for _, m := range some {
				args = append(args, m.table, m.first, m.last, m.done, m.rows, m.steps, m.what)
			}
			values := strings.TrimSuffix(strings.Repeat("(?,?,?,?,?,?,?),", len(some)), ",")
			err := exec("INSERT INTO "+recordRef(p.plan)+" VALUES "+values, args...)
			if n, ok := target.ServerErrorNumber(err); ok && n == duplicateKey {
				return fmt.Errorf("another prepare of the same tables has just started in database %s", p.plan.Schema)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return p.t.Wrap("record what is loaded on", err)
	}
	return nil
}

// forget removes the lines of tables, and the record itself with its last line.
func forget(ctx context.Context, t *target.Target, db string, tables []string) error {
	ref := schema.Ref{Schema: db, Table: recordTable}
	err := exclusive(ctx, t, db, func(exec func(string, ...any) error) error {
		for len(tables) > 0 {
			some := tables[:min(len(tables), marksAtOnce)]
			tables = tables[len(some):]
			var args []any
			for _, name := range some {
				args = append(args, name)
			}
			err := exec("DELETE FROM "+ddl.Name(ref)+" WHERE name IN ("+
				strings.TrimSuffix(strings.Repeat("?,", len(some)), ",")+")", args...)
			if n, ok := target.ServerErrorNumber(err); ok && (n == noSuchTable || n == noSuchDatabase) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		var left int
		if err := t.DB().QueryRowContext(ctx, sqltext.Tagged("prepare", "", "SELECT COUNT(*) FROM "+ddl.Name(ref))).
			Scan(&left); err != nil || left > 0 {
			return err
		}
		return exec("DROP TABLE IF EXISTS " + ddl.Name(ref))
	})
	if err != nil {
		return t.Wrap("remove "+ref.String()+" on", err)
	}
	return nil
}

// step notes how many statements of After a table has behind it.
func (p *preparation) step(ctx context.Context, s *target.Session, table string, steps int) error {
	_, err := s.Exec(ctx, fmt.Sprintf("UPDATE %s SET steps = %d WHERE name = %s AND first = 1", recordRef(p.plan),
		steps, literal(table)))
	return err
}

// literal writes a text as SQL does, for a session with the settings of prepare.
func literal(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\x00", `\0`).Replace(text) + "'"
}
