package digestsource

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// classOf turns a class of a digested log, of statements in one default database, into what judgement takes.
func classOf(c digest.Row, schema string) class.Class {
	key := func(a slowlog.Attribute) string { return infoOf(a).Key }
	sum := func(a slowlog.Attribute) known.Value[uint64] {
		f, ok := c.Attributes[key(a)]
		if !ok || f.Sum < 0 {
			return known.None[uint64]()
		}
		return known.Of(uint64(f.Sum + 0.5))
	}
	yes := func(a slowlog.Attribute) known.Value[uint64] {
		s, ok := c.Flags[key(a)]
		if !ok {
			return known.None[uint64]()
		}
		return known.Of(s.Yes)
	}
	t := c.Attributes[queryTime]
	out := class.Class{
		ID: c.ID, Fingerprint: c.Fingerprint, Schema: schema, Origin: class.SlowLog,
		Count: c.Count, TimeSec: t.Sum, MaxSec: t.Max, P95Sec: t.P95,
		RowsSent: sum(slowlog.RowsSent), Examined: sum(slowlog.RowsExamined), Affected: sum(slowlog.RowsAffected),
		SortRows:  sum(slowlog.SortRows),
		FullScans: yes(slowlog.FullScan), FullJoins: yes(slowlog.FullJoin), TmpTables: sum(slowlog.TmpTables),
		TmpDisk:   sum(slowlog.TmpDiskTables),
		FirstSeen: c.FirstSeen, LastSeen: c.LastSeen, Users: words(c.Users), Hosts: words(c.Hosts),
	}
	if f, ok := c.Attributes[key(slowlog.LockTime)]; ok {
		out.LockSec = known.Of(f.Sum)
	}
	for _, s := range []*digest.Sample{c.Worst, c.Typical} {
		// the slowest is the one worth explaining, half of one is not
		if s != nil && !s.Cut {
			out.Example = s.SQL
			break
		}
	}
	return out
}

// words returns the most frequent names in alphabetical order.
func words(list []digest.Tally) (out []string) {
	for _, t := range list[:min(len(list), maxWords)] {
		if t.Name != "" {
			out = append(out, t.Name)
		}
	}
	slices.Sort(out)
	return out
}

// byTime puts classes with the most time first.
func byTime(a, b class.Class) int {
	return cmp.Or(cmp.Compare(b.TimeSec, a.TimeSec), strings.Compare(a.ID, b.ID), strings.Compare(a.Schema, b.Schema))
}
