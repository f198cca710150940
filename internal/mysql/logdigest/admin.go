package logdigest

import "github.com/dyno-perf/dyno/internal/mysql/slowlog"

// noRows sets the rows of an administrator command to 0, as pt-query-digest does: servers write there what is left of
// the statement before.
func noRows(figures []slowlog.Figure) {
	for i := range figures {
		switch figures[i].Attribute { //nolint:exhaustive // all others stay
		case slowlog.RowsSent, slowlog.RowsExamined, slowlog.RowsRead, slowlog.RowsAffected:
			figures[i].Value = 0
		}
	}
}
