package apply

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

const (
	textsTime = 10 * time.Second // in which all rows must have been read
	textsMost = 1000             // rows are counted
)

// checkTexts looks whether a change that gives a column of texts another type leaves each value what it is. The server
// refuses what is no such value; what it takes may still come back as another text, "007" as "7", and the definition
// alone can be taken back.
func checkTexts(ctx context.Context, t *target.Target, tab schema.Table, x schema.Clause, o objections) error {
	var was schema.Column
	for _, c := range tab.Columns {
		if strings.EqualFold(c.Name, x.Column) {
			was = c
		}
	}
	if !textual(was.DataType) || textual(word(x.Definition)) {
		return nil
	}
	to := castTo(x.Definition)
	if to == "" {
		o.block("column %s holds texts, and whether they stay the same as %s is unknown: change it by hand",
			x.Column, word(x.Definition))
		return nil
	}
	conn, err := target.Limited(ctx, t, textsTime)
	if err != nil {
		return err
	}
	defer func() { _ = target.Discard(conn) }()
	limit, cancel := context.WithTimeout(ctx, textsTime+5*time.Second) // where the server has no limit of its own
	defer cancel()
	q := ddl.Quote(was.Name)
	back := "CAST(CAST(" + q + " AS " + to + ") AS CHAR)"
	n := 0
	err = conn.QueryRowContext(limit, sqltext.Tagged("apply", "", fmt.Sprintf(
		"SELECT COUNT(*) FROM (SELECT 1 FROM %s "+ddl.TableOnly+" WHERE %s IS NOT NULL AND (%s IS NULL OR "+
			"CAST(%[3]s AS BINARY) <> CAST(CONVERT(%[2]s USING utf8mb4) AS BINARY)) LIMIT %[4]d) x",
		ddl.Name(tab.Ref), q, back, textsMost))).Scan(&n)
	number, _ := target.ServerErrorNumber(err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && (limit.Err() != nil || number == tookLongMySQL || number == tookLongMariaDB):
		o.block("whether all texts of column %s stay the same as %s could not be checked within %v: change it by hand",
			x.Column, to, textsTime)
	case target.KindOf(err) == endpoint.Denied:
		o.block("the account may not read column %s, to check whether its texts stay the same: it needs SELECT on %s",
			x.Column, tab.Ref)
	case err != nil:
		return t.Wrap("check the texts of "+tab.Ref.String(), err)
	case n >= textsMost:
		o.block("%d rows or more hold texts in column %s that would change or be lost (leading zeros, spaces, no "+
			"%s): that cannot be undone; change those rows first", n, x.Column, to)
	case n > 0:
		o.block("%d of the rows hold texts in column %s that would change or be lost (leading zeros, spaces, no %s): "+
			"that cannot be undone; change those rows first", n, x.Column, to)
	}
	return nil
}

// The errors of a statement that took longer than the limit.
const (
	tookLongMySQL   = 3024
	tookLongMariaDB = 1969
)

func textual(dataType string) bool {
	d := strings.ToLower(dataType)
	return strings.HasSuffix(d, "char") || strings.HasSuffix(d, "text")
}

// word is the name of the type that a column's definition begins with, in lower case.
func word(definition string) string {
	d := strings.ToLower(strings.TrimSpace(definition))
	if i := strings.IndexFunc(d, func(r rune) bool { return r < 'a' || r > 'z' }); i >= 0 {
		return d[:i]
	}
	return d
}

var typed = lazyregexp.New(`^[A-Za-z]+ *(\([0-9, ]+\))?`)

// castTo is what CAST takes for the type that a definition begins with; "" for those that are not known to keep their
// texts.
func castTo(definition string) string {
	definition = strings.TrimSpace(definition)
	size := ""
	if m := typed.FindStringSubmatch(definition); m != nil {
		size = m[1]
	}
	switch w := word(definition); w {
	case "tinyint", "smallint", "mediumint", "int", "integer", "bigint":
		if strings.Contains(strings.ToLower(definition), "unsigned") {
			return "UNSIGNED"
		}
		return "SIGNED"
	case "decimal", "numeric":
		return "DECIMAL" + size
	case "date":
		return "DATE"
	case "datetime", "timestamp":
		return "DATETIME" + size
	case "time":
		return "TIME" + size
	}
	return ""
}
