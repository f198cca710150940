package sources

import (
	"context"
	"database/sql/driver"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/source"
)

// binlog reads what the binary logs take: mysql_binlog_size_bytes, mysql_binlog_files, and mysql_binlog_file_number of
// the one that is written. It needs REPLICATION CLIENT, on MariaDB from 10.5 on BINLOG MONITOR. A server that writes
// none has none of these.
type binlog struct {
	q   querier
	acc account
	sql string
}

func newBinlog(q querier, acc account) *binlog {
	return &binlog{q: q, acc: acc, sql: tagged(source.Binlog, "SHOW BINARY LOGS")}
}

func (s *binlog) Name() source.Name { return source.Binlog }

func (s *binlog) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	var files, size, last float64
	_, err := s.q.Query(ctx, s.sql, func(row []driver.Value) {
		if len(row) < 2 {
			return
		}
		v, _ := number(row[1])
		files, size = files+1, size+v
		if _, n, ok := cutLast(string(text(row[0])), "."); ok {
			last, _ = parseNumber([]byte(n))
		}
	})
	if n, _ := target.ServerErrorNumber(err); n == 1381 { // it does not write any
		return nil
	}
	if err != nil {
		privilege := "REPLICATION CLIENT ON *.*"
		if f := s.acc.Facts(); f.Flavor.IsMariaDB() && f.Version.AtLeast(10, 5, 0) {
			privilege = "BINLOG MONITOR ON *.*"
		}
		return classify(s.acc, err, privilege)
	}
	emit(metric.Sample{Name: "mysql_binlog_size_bytes", At: at, Value: size})
	emit(metric.Sample{Name: "mysql_binlog_files", At: at, Value: files})
	emit(metric.Sample{Name: "mysql_binlog_file_number", At: at, Value: last})
	return nil
}
