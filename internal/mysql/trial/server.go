package trial

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// server is a server of a trial: it implements family.TrialServer.
type server struct{ *target.Target }

// Environment implements family.TrialReadings.
func (s server) Environment(ctx context.Context) (facts map[string]map[string]string, unknown map[string]string,
	err error,
) {
	return catalog.Environment(ctx, s.DB())
}

// Written implements family.TrialReadings.
func (s server) Written(ctx context.Context) (map[string]uint64, error) {
	layers, err := catalog.BytesWritten(ctx, s.DB())
	out := map[string]uint64{}
	for name, l := range layers {
		if n, ok := l.Bytes.Get(); ok {
			out[name] = n
		}
	}
	return out, err
}

// Apply implements family.TrialSettings with global variables. was holds what they were, as literals.
func (s server) Apply(ctx context.Context, set, was map[string]string) (map[string]string, error) {
	want := map[string]string{}
	for name, v := range set {
		want[strings.ToLower(name)] = literal(v)
	}
	for name, v := range was {
		if _, again := want[name]; !again {
			want[name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !variable.MatchString(name) {
			return was, fmt.Errorf("set %q: not a variable's name", name)
		}
		if _, known := was[name]; !known {
			var v sql.NullString
			if err := s.DB().QueryRowContext(ctx, "SELECT @@GLOBAL."+name).Scan(&v); err != nil {
				return was, fmt.Errorf("set %s: %w", name, s.Wrap("change", err))
			}
			if was == nil {
				was = map[string]string{}
			}
			was[name] = literal(v.String)
			if !v.Valid {
				was[name] = "DEFAULT"
			}
		}
		if _, err := s.DB().ExecContext(ctx, "SET GLOBAL "+name+" = "+want[name]); err != nil {
			return was, fmt.Errorf("set %s: %w", name, s.Wrap("change", err))
		}
	}
	return was, nil
}

var (
	variable = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_.]*$`)
	bare     = lazyregexp.New(`^(-?[0-9]+(\.[0-9]+)?|[A-Za-z_]+)$`)
)

// literal writes a value for SET: sizes with a suffix as numbers, which SET wants, words and numbers bare, the rest
// quoted.
func literal(v string) string {
	if n := len(v); n > 1 && strings.ContainsAny(v[n-1:], "kKmMgGtT") {
		if x, err := strconv.ParseUint(v[:n-1], 10, 40); err == nil {
			shift := map[byte]uint{'k': 10, 'm': 20, 'g': 30, 't': 40}[v[n-1]|0x20]
			return strconv.FormatUint(x<<shift, 10)
		}
	}
	if bare.MatchString(v) {
		return v
	}
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(v) + "'"
}
