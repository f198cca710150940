package catalog

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/known"
)

// Layer is how much one layer of a server has written since its start.
type Layer struct {
	Bytes known.Value[uint64]
	// How names the counter and what it does not hold; when Bytes is unknown, why.
	How string
	// Exact tells that the counter is one of bytes; else it is a number of pages taken at their full size.
	Exact bool
}

// BytesWritten returns how much a server has written since its start, by layer. All but Binlog's fallback only grow, so
// that the difference of two readings of the same run of a server is what was written between them; a smaller later one
// means that the server was started again or logs were removed.
//
//	data pages that went to data files: Innodb_pages_written × Innodb_page_size. Pages of compressed tables count at
//	their full
//	             size, files that are merely made longer do not count. (Innodb_data_written cannot serve: in MySQL the
//	             redo log is part of
//	             it, in MariaDB the doublewrite buffer.)
//	doublewrite  Innodb_dblwr_pages_written × Innodb_page_size; 0 when it is off
//	redo         Innodb_os_log_written, bytes written to the redo log, padding included
//	binlog MariaDB: Binlog_bytes_written. MySQL: bytes written to binary logs by
//	performance_schema.file_summary_by_event_name, where
//	             that is off the sum of SHOW BINARY LOGS; 0 when there is none
//
// Sources: "Server Status Variables" and "Performance Schema File I/O Summary Tables" of the MySQL manual, "InnoDB
// Status Variables" and "Replication and Binary Log Status Variables" of MariaDB's.
func BytesWritten(ctx context.Context, q Querier) (map[string]Layer, error) {
	status, vars := map[string]string{}, map[string]string{}
	for _, s := range []struct {
		query string
		into  map[string]string
	}{
		{"SHOW GLOBAL STATUS WHERE Variable_name IN " +
			"('Innodb_pages_written','Innodb_page_size','Innodb_dblwr_pages_written','Innodb_os_log_written'," +
			"'Binlog_bytes_written')", status},
		{"SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_doublewrite','log_bin')", vars},
	} {
		if err := each(ctx, q, s.query, nil, func(r row) {
			s.into[strings.ToLower(r.text(0))] = r.text(1)
		}); err != nil {
			return nil, fmt.Errorf("read bytes written: %w", err)
		}
	}
	counter := func(name string) (uint64, bool) {
		n, err := strconv.ParseUint(status[name], 10, 64)
		return n, err == nil
	}
	out := map[string]Layer{}
	page, hasPage := counter("innodb_page_size")
	pages := func(layer, name, how string) {
		n, ok := counter(name)
		if !ok || !hasPage {
			out[layer] = Layer{How: "this server does not count " + name}
			return
		}
		out[layer] = Layer{Bytes: known.Of(n * page), How: how}
	}
	pages("data", "innodb_pages_written", fmt.Sprintf("Innodb_pages_written × %d bytes", page))
	switch dw := strings.ToUpper(vars["innodb_doublewrite"]); {
	case dw == "OFF" || dw == "0" || dw == "DETECT_ONLY": // the last one writes page numbers, no pages
		out["doublewrite"] = Layer{
			Bytes: known.Of(uint64(0)), How: "innodb_doublewrite is " + dw,
			Exact: dw != "DETECT_ONLY",
		}
	default:
		pages("doublewrite", "innodb_dblwr_pages_written", fmt.Sprintf("Innodb_dblwr_pages_written × %d bytes", page))
	}
	if n, ok := counter("innodb_os_log_written"); ok {
		out["redo"] = Layer{Bytes: known.Of(n), How: "Innodb_os_log_written", Exact: true}
	} else {
		out["redo"] = Layer{How: "this server does not count innodb_os_log_written"}
	}
	out["binlog"] = binlog(ctx, q, vars["log_bin"], counter)
	return out, nil
}

func binlog(ctx context.Context, q Querier, logBin string, counter func(string) (uint64, bool)) Layer {
	if logBin == "OFF" || logBin == "0" {
		return Layer{Bytes: known.Of(uint64(0)), How: "there is no binary log", Exact: true}
	}
	if n, ok := counter("binlog_bytes_written"); ok {
		return Layer{Bytes: known.Of(n), How: "Binlog_bytes_written", Exact: true}
	}
	var sum uint64
	found := false
	err := each(ctx, q, "SELECT s.SUM_NUMBER_OF_BYTES_WRITE FROM performance_schema.file_summary_by_event_name s"+
		" JOIN performance_schema.setup_instruments i ON i.NAME = s.EVENT_NAME WHERE s.EVENT_NAME = "+
		"'wait/io/file/sql/binlog' AND i.ENABLED = 'YES'",
		nil, func(r row) {
			if n, err := strconv.ParseUint(r.text(0), 10, 64); err == nil && n > 0 {
				// at its start a server writes a header, so 0 is "off"
				sum, found = n, true
			}
		})
	if err == nil && found {
		return Layer{
			Bytes: known.Of(sum),
			How:   "performance_schema.file_summary_by_event_name, wait/io/file/sql/binlog", Exact: true,
		}
	}
	err = each(ctx, q, "SHOW BINARY LOGS", nil, func(r row) {
		if len(r) > 1 {
			if n, err := strconv.ParseUint(r.text(1), 10, 64); err == nil {
				sum, found = sum+n, true
			}
		}
	})
	if err != nil || !found {
		why := "performance_schema does not count it and SHOW BINARY LOGS names none"
		if err != nil {
			why = "performance_schema does not count it, and: " + err.Error()
		}
		return Layer{How: why}
	}
	return Layer{
		Bytes: known.Of(sum), How: "sizes of SHOW BINARY LOGS: too little when logs are removed meanwhile",
		Exact: true,
	}
}
