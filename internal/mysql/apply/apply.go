package apply

import (
	"context"
	"strings"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// likeness says how an index on the server compares with the one of an action.
type likeness string

const (
	same    likeness = "there"
	gone    likeness = "not there"
	changed likeness = "another one"
)

// present looks for the action's index, by name and by key.
func present(ctx context.Context, t *target.Target, a finding.Action) (likeness, schema.Index, error) {
	tables, err := catalog.Tables(ctx, t.DB(), []schema.Ref{a.Table})
	if err != nil {
		return "", schema.Index{}, t.Wrap("look for the index", err)
	}
	if len(tables) == 1 {
		for _, x := range tables[0].Indexes {
			if !strings.EqualFold(x.Name, a.Index.Name) {
				continue
			}
			if sameOn(t, x, a.Index) {
				return same, x, nil
			}
			return changed, x, nil
		}
	}
	return gone, schema.Index{}, nil
}

// sameOn compares an index as the server shows it with the one that was asked for: what an old server ignores does not
// count, and the server writes expressions in its own way.
func sameOn(t *target.Target, have, want schema.Index) bool {
	if len(have.Parts) != len(want.Parts) {
		return false
	}
	have.Parts, want.Parts = append([]schema.IndexPart{}, have.Parts...), append([]schema.IndexPart{}, want.Parts...)
	for i := range have.Parts {
		h, w := &have.Parts[i], &want.Parts[i]
		if !t.Has(target.HasDescendingIndex) {
			h.Desc, w.Desc = false, false
		}
		if h.Expr != "" && w.Expr != "" {
			h.Expr, w.Expr = "", ""
		}
	}
	return schema.SameKey(have, want)
}

// running reports whether an ALTER of Dyno's own is at work on the table: anyone can write its tag and its text.
// Without the privilege PROCESS only the account's own sessions are seen, which is enough.
func running(ctx context.Context, t *target.Target, table schema.Ref) (bool, error) {
	// The text may be as long as max_allowed_packet.
	rows, err := t.DB().QueryContext(ctx, sqltext.Tagged("apply", "", "SELECT ID, IFNULL(USER, ''), IFNULL(HOST, "+
		"''), LEFT(INFO, 4096)"+
		" FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND INFO IS NOT NULL"))
	if err != nil {
		return false, t.Wrap("look for the change", err)
	}
	defer rows.Close()
	found := false
	for rows.Next() {
		var id uint64
		var user, host, info string
		if err := rows.Scan(&id, &user, &host, &info); err != nil {
			return false, t.Wrap("look for the change", err)
		}
		_, statement, _ := strings.Cut(info, " */ ")
		found = found || sqltext.Own(info) && strings.HasPrefix(statement, "ALTER TABLE "+ddl.Name(table)+" ") &&
			t.Owns(id, user, host)
	}
	return found, t.Wrap("look for the change", rows.Err())
}
