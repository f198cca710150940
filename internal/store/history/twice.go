package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"
	"time"
)

// figureKey names a figure among those of windows that were chosen: the beginning of its window, and its class.
type figureKey struct{ at, class int64 }

// alongside is how far from a window in which a source counted statements one counts as at work too: on an idle server
// nothing else ends while a long statement runs.
const alongside = 5 * time.Minute

// countedTwice returns the sampled figures of windows that would count time again. Beside a source that counts
// statements when they end, those that still ran at the end of a reading are sampled; when they end they are counted
// with all of their time. So a sampled figure is left out where such a source was at work and told of the same class in
// any of the windows. What was sampled for want of such a source stays. only bounds it to classes with these ids; nil:
// all.
func countedTwice(ctx context.Context, db *sql.DB, target int64, ws []window, only []string) (
	map[figureKey]bool, error,
) {
	if len(ws) == 0 {
		return nil, nil
	}
	var windows strings.Builder
	args := []any{}
	for i, s := range spans(ws) {
		if i > 0 {
			windows.WriteString(" UNION ALL ")
		}
		windows.WriteString("SELECT target, level, at FROM win WHERE target = ? AND level = ? AND at >= ? AND at <= ?")
		args = append(args, target, s.level, s.first, s.last)
	}
	of := ""
	if only != nil {
		ids, err := json.Marshal(only)
		if err != nil {
			return nil, err
		}
		of = " AND a.class IN (SELECT value FROM json_each(?))"
		args = append(args, string(ids))
	}
	near := alongside.Milliseconds()
	out := map[figureKey]bool{}
	_, err := query(ctx, db, func(r *sql.Rows, _ *struct{}) error {
		var k figureKey
		if err := r.Scan(&k.at, &k.class); err != nil {
			return err
		}
		out[k] = true
		return nil
	}, `WITH w AS MATERIALIZED (`+windows.String()+`),
		pair (sampled, exact) AS MATERIALIZED (SELECT a.id, b.id FROM class a CROSS JOIN class b ON b.class = a.class AND NOT b.sampled WHERE a.sampled`+of+`),
		told AS MATERIALIZED (SELECT * FROM w WHERE EXISTS (SELECT 1 FROM figure f CROSS JOIN class c ON c.id = f.class
			WHERE f.target = w.target AND f.level = w.level AND f.at = w.at AND NOT c.sampled)),
		twin (id) AS MATERIALIZED (SELECT DISTINCT sampled FROM pair WHERE EXISTS (SELECT 1 FROM told CROSS JOIN figure f
			ON f.target = told.target AND f.level = told.level AND f.at = told.at AND f.class = pair.exact))
		SELECT f.at, f.class FROM twin CROSS JOIN w CROSS JOIN figure f ON f.target = w.target AND f.level = w.level AND f.at = w.at AND f.class = twin.id
		WHERE EXISTS (SELECT 1 FROM told WHERE told.at BETWEEN w.at - ? AND w.at + ?)`, append(args, near, near)...)
	return out, err
}

// notTwice is the condition that a figure f is none of these, and its argument; neither when there are none.
func notTwice(twice map[figureKey]bool) (string, []any) {
	if len(twice) == 0 {
		return "", nil
	}
	list := make([][2]int64, 0, len(twice))
	for k := range twice {
		list = append(list, [2]int64{k.at, k.class})
	}
	doc, _ := json.Marshal(list) // numbers always are JSON
	return " AND (f.at, f.class) NOT IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))", []any{string(doc)}
}
