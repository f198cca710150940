package report_test

import (
	"time"

	"github.com/dyno-perf/dyno/internal/attribute"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// figures are those of n statements that took from lo to hi; the rest of the figures is made up but in order.
func figures(a slowlog.Attribute, n uint64, sum, lo, hi, share float64) digest.Figures {
	i, _ := slowlog.Known(a)
	avg := sum / float64(n)
	return digest.Figures{
		Info: i, Count: n, Share: known.Of(share), Sum: sum, Min: known.Of(lo),
		Max: known.Of(hi), Avg: avg,
		P95: known.Of(avg + (hi-avg)*0.9), Stddev: known.Of((hi - lo) / 4), Median: known.Of(lo + (avg-lo)*0.9),
	}
}

func infoOf(a slowlog.Attribute) attribute.Info {
	i, _ := slowlog.Known(a)
	return i
}

// digestSample is a digest with all that one can hold.
func digestSample() *digest.Report {
	at := func(s int) time.Time { return time.Date(2026, 5, 4, 10, 0, s, 0, time.UTC) }
	r := &digest.Report{
		Version: digest.Version, Dialect: mytext.Dialect{},
		Global: digest.Global{
			Source: "slow_log", Files: []digest.File{
				{Name: "slow.log.1.gz", Bytes: 7311, Entries: 700},
				{Name: "slow.log", Bytes: 91234, Entries: 543},
			},
			First: at(0), Last: at(600), Count: 2486, Entries: 1243, Classes: 9, QPS: known.Of(4.143),
			Concurrency: known.Of(0.52),
			Attributes: map[string]digest.Figures{
				"query_time":            figures(slowlog.QueryTime, 2486, 312.5, 0.000012, 4.2, 1),
				"lock_time":             figures(slowlog.LockTime, 2486, 0.25, 0, 0.002, 1),
				"rows_examined":         figures(slowlog.RowsExamined, 2486, 62951234, 0, 2500000, 1),
				"rows_sent":             figures(slowlog.RowsSent, 2486, 12345, 0, 1000, 1),
				"bytes_sent":            figures(slowlog.BytesSent, 2486, 7e9, 56, 1e8, 1),
				"innodb_io_r_wait":      figures(slowlog.InnoDBIOReadWait, 1200, 12.5, 0, 1.1, 1),
				"innodb_pages_distinct": figures(slowlog.InnoDBPagesDistinct, 1200, 123456, 1, 8000, 1),
				"query_length":          figures(slowlog.QueryLength, 2486, 250000, 5, 4000, 1),
				"zebra_count":           {Info: attribute.Info{Label: "Zebra count"}, Count: 3, Sum: 6, Avg: 2},
			},
			Flags: map[string]digest.Share{
				"full_scan": {Info: infoOf(slowlog.FullScan), Yes: 620, No: 1866},
				"filesort":  {Info: infoOf(slowlog.Filesort), No: 2486},
			},
			Skipped: 12, SkippedBytes: 4711, Filtered: 17, Own: 4,
			Notes: []string{"the clock went back by 3 s at byte 512"},
		},
		Other: digest.Rest{Classes: 5, Count: 86, QuerySec: 2.5, Share: 0.008},
		Skipped: []digest.Skip{
			{File: "slow.log", Offset: 512, Length: 64, Reason: "no header before it"},
			{Offset: 4096, Length: 1, Reason: "torn"},
			{File: "gone.log", Reason: "no such file"},
		},
	}
	minutes := digest.Minutes{
		Start: at(0), StepSec: 60, Counts: []uint64{100, 0, 210, 400, 380, 90, 12, 0, 0, 8},
		QuerySec: make([]float64, 10),
	}
	r.Classes = []digest.Row{
		{
			Rank: 1, ID: "45FE45AEC222350466825DDC008FFA89", Fingerprint: "select * from orders where customer_id=? " +
				"and state in(?+)", Item: "SELECT shop.orders",
			Count: 1200, Share: 0.9, QPS: known.Of(2.0), Concurrency: known.Of(0.4687), VarianceToMean: known.Of(0.31),
			Attributes: map[string]digest.Figures{
				"query_time":       figures(slowlog.QueryTime, 1200, 281.25, 0.002, 4.2, 0.9),
				"lock_time":        figures(slowlog.LockTime, 1200, 0.125, 0, 0.002, 0.5),
				"rows_examined":    figures(slowlog.RowsExamined, 1200, 60000000, 5, 2500000, 0.95),
				"innodb_io_r_wait": figures(slowlog.InnoDBIOReadWait, 1200, 12.5, 0, 1.1, 1),
			},
			Flags:     map[string]digest.Share{"full_scan": {Info: infoOf(slowlog.FullScan), Yes: 600, No: 600}},
			Histogram: [8]uint64{0, 0, 0, 40, 260, 700, 200, 0}, FirstSeen: at(0),
			LastSeen: at(600), PerMinute: minutes,
			Hosts: []digest.Tally{
				{Name: "10.0.0.17", Count: 600},
				{Name: "web-frontend-03.example", Count: 400},
				{Name: "10.0.0.18", Count: 150},
				{Name: "", Count: 50},
			},
			Users:      []digest.Tally{{Name: "shop", Count: 1200}},
			Databases:  []digest.Tally{{Name: "shop", Count: 1100}, {Name: "archive", Count: 100}},
			ErrorCodes: []digest.Tally{{Name: "1205", Count: 3}}, Killed: 2,
			Tables: []string{"shop.orders", "`odd.name`", "we're"},
			Worst: &digest.Sample{
				SQL: "SELECT * FROM orders\nWHERE customer_id = 4711 AND state IN ('open', " +
					"'it\\'s')", Time: at(301), QuerySec: 4.2, DB: "shop", User: "shop", Host: "10.0.0.17", Thread: 12,
				File: "slow.log", Offset: 4711,
			},
			Typical: &digest.Sample{
				SQL:  "SELECT * FROM orders WHERE customer_id = 8 AND state IN ('paid')",
				Time: at(302), QuerySec: 0.21, DB: "shop", File: "slow.log.1.gz", Offset: 12,
			},
			Plan: []string{
				"id\tselect_type\ttable\ttype\tkey\trows\tExtra",
				"1\tSIMPLE\torders\tALL\tNULL\t2500000\tUsing where",
			},
		},
		{
			Rank: 2, ID: "0000000000000000000000000000000B", Fingerprint: "update orders set state=? where id=?",
			Item: "UPDATE orders", Count: 1000, Share: 0.08,
			QPS: known.Of(1.67), Concurrency: known.Of(0.04), VarianceToMean: known.Of(0.0),
			Attributes: map[string]digest.Figures{"query_time": figures(slowlog.QueryTime, 1000,
				25, 0.0001, 0.5, 0.08)},
			Histogram: [8]uint64{1, 0, 100, 600, 290, 9, 0, 0}, FirstSeen: at(1), LastSeen: at(599),
			Hosts: []digest.Tally{{Count: 1000}}, Tables: []string{"orders"},
			Worst: &digest.Sample{
				SQL: "UPDATE orders SET state = 'paid' WHERE id = 17;", Time: at(77), QuerySec: 0.5,
				Offset: 99, File: "slow.log",
			},
		},
		{
			Rank: 3, ID: "0000000000000000000000000000000C", Fingerprint: "insert into log values(?+)",
			Item: "INSERT log", Count: 100, Share: 0.01,
			Attributes: map[string]digest.Figures{"query_time": {Count: 100, Sum: 3, Avg: 0.03}},
			Truncated:  true, Running: 2,
			Worst: &digest.Sample{SQL: "INSERT INTO log VALUES (1, 'torn", Cut: true, QuerySec: 1, Offset: 5},
		},
		{
			Rank: 4, ID: "AA353644DE4C4CB44BFF1CF5D2B2A3CF", Fingerprint: "administrator command: Quit",
			Item: "ADMIN QUIT", Count: 100, Share: 0.002,
			Attributes: map[string]digest.Figures{"query_time": figures(slowlog.QueryTime, 100, 0.75, 0.001, 0.02,
				0.002)}, Histogram: [8]uint64{0, 0, 0, 100},
			FirstSeen: at(5), LastSeen: at(5), Worst: &digest.Sample{SQL: "Quit", Offset: 0},
		},
	}
	return r
}
