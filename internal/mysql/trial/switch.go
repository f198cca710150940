package trial

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// switcher puts groups of global variables in effect, each by one statement.
type switcher struct {
	conn  *sql.Conn
	names int
	set   []string // the statement of each group
	ask   string   // reads them all
}

// Switch implements family.TrialSettings.
func (s server) Switch(ctx context.Context, groups []map[string]string) (family.SettingsSwitch, error) {
	names := slices.Sorted(maps.Keys(groups[0]))
	w := &switcher{names: len(names)}
	var ask []string
	for _, name := range names {
		if !variable.MatchString(name) {
			return nil, fmt.Errorf("set %q: not a variable's name", name)
		}
		ask = append(ask, "@@GLOBAL."+name)
	}
	w.ask = "SELECT " + strings.Join(ask, ", ")
	for _, g := range groups {
		var set []string
		for _, name := range names {
			set = append(set, "GLOBAL "+name+" = "+literal(g[name]))
		}
		w.set = append(w.set, "SET "+strings.Join(set, ", "))
	}
	var err error
	if w.conn, err = target.Held(ctx, s.Target); err != nil {
		return nil, err
	}
	return w, nil
}

// Text implements family.SettingsSwitch.
func (w *switcher) Text(group int) string { return w.set[group] }

// To implements family.SettingsSwitch.
func (w *switcher) To(ctx context.Context, group int) ([]string, error) {
	if _, err := w.conn.ExecContext(ctx, w.set[group]); err != nil {
		return nil, err
	}
	texts := make([]sql.NullString, w.names)
	into := make([]any, len(texts))
	for i := range texts {
		into[i] = &texts[i]
	}
	if err := w.conn.QueryRowContext(ctx, w.ask).Scan(into...); err != nil {
		return nil, err
	}
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = t.String
	}
	return out, nil
}

// Close implements family.SettingsSwitch.
func (w *switcher) Close() { _ = target.Discard(w.conn) }
