package scrape

import (
	"context"
	"database/sql/driver"
	"strings"

	"dyno/internal/metric"
	"dyno/internal/sqltext"
)

// globalStatus reads SHOW GLOBAL STATUS, which every account may. Each numeric variable becomes mysql_global_status_<name in
// lower case>; ON and YES are 1, OFF and NO are 0; other text is left out.
type globalStatus struct {
	q     querier
	acc   account
	sql   string
	known map[string]series // by the server's spelling
}

// series is what stays the same for all samples of one metric.
type series struct {
	name string
	kind metric.Kind
}

func newGlobalStatus(q querier, acc account) *globalStatus {
	return &globalStatus{q: q, acc: acc, sql: sqltext.Tagged("scrape", "global_status", "SHOW GLOBAL STATUS"), known: map[string]series{}}
}

func (s *globalStatus) Name() string { return "global_status" }

func (s *globalStatus) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	_, err := s.q.Query(ctx, s.sql, func(row []driver.Value) {
		if len(row) != 2 {
			return
		}
		name, val := text(row[0]), text(row[1])
		v, isWord, ok := statusValue(val)
		if !ok {
			return
		}
		k, ok := s.known[string(name)]
		if !ok {
			if len(s.known) > 5000 { // no server has so many; what sends them without end must not fill the memory
				return
			}
			k = series{name: metricName("mysql_global_status_", name), kind: statusKind(strings.ToLower(string(name)))}
			if isWord {
				k.kind = metric.Gauge
			}
			s.known[string(name)] = k
		}
		emit(metric.Sample{Name: k.name, Kind: k.kind, At: at, Value: v})
	})
	return classify(s.acc, err, "")
}

// statusValue reads the value of a status variable.
func statusValue(b []byte) (v float64, isWord, ok bool) {
	if v, ok := parseNumber(b); ok {
		return v, false, true
	}
	switch {
	case len(b) == 2 && b[0] == 'O' && b[1] == 'N', string(b) == "YES", string(b) == "Yes":
		return 1, true, true
	case string(b) == "OFF", string(b) == "NO", string(b) == "No":
		return 0, true, true
	}
	return 0, false, false
}
