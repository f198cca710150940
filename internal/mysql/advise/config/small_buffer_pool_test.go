package config

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/test/snap"
)

// archive is a server that reads 400 MiB of rows through a pool of 128 MiB: 2000 misses a second, 1 ms each, half of
// the time.
func archive(more ...func(*snap.Made)) *snap.Made {
	m := snap.Build().Set("innodb_buffer_pool_size", "134217728").Set("innodb_page_size", "16384").
		Set("innodb_lru_scan_depth", "100").
		Exact("SELECT body FROM papers WHERE id = 7", 40_000, 0.001, 1, 1).Table("papers", 400_000)
	m.Last().DataBytes, m.Last().IndexBytes = known.Of(uint64(400*mib)), known.Of(uint64(0))
	status(m, "Innodb_buffer_pool_pages_total", 8192)
	status(m, "Innodb_buffer_pool_pages_free", 120)
	status(m, "Innodb_buffer_pool_pages_dirty", 100)
	m.Status("Innodb_buffer_pool_reads", 2000).Status("Innodb_data_read", 2000*16384)
	fileReads(m, 2000, 0.001)
	m.S.Host.MemBytes = known.Of(uint64(16 * gib))
	m.Gauge("node_memory_MemAvailable_bytes", 12*gib)
	for _, f := range more {
		f(m)
	}
	return m
}

// replace gives a series another rate or value.
func replace(name string, to float64) func(*snap.Made) {
	return func(m *snap.Made) {
		for i := range m.S.Series {
			x := &m.S.Series[i]
			if x.Name != name {
				continue
			}
			for n := range x.Points {
				x.Points[n].Value = to
				if x.Kind.String() == "counter" {
					x.Points[n].Value = to * float64(n)
				}
			}
		}
	}
}

// drop takes a series away.
func drop(name string) func(*snap.Made) {
	return func(m *snap.Made) {
		keep := m.S.Series[:0:0]
		for _, x := range m.S.Series {
			if x.Name != name {
				keep = append(keep, x)
			}
		}
		m.S.Series = keep
	}
}

func TestSmallBufferPool(t *testing.T) {
	f := one(t, smallBufferPool, archive())
	has(t, f, "innodb_buffer_pool_size = 480M") // 400 MiB × 1.15, rounded up
	if f.Action == nil || f.Action.Kind != finding.SetVariable || f.Action.Value != "503316480" ||
		f.Action.Undo != "SET GLOBAL innodb_buffer_pool_size = 134217728" || f.Restart {
		t.Errorf("action %+v, restart %v", f.Action, f.Restart)
	}
	if f.Confidence != finding.Certain || f.Severity != finding.Critical || f.Share < 0.45 || f.Share > 0.55 ||
		len(f.Subject.Tables) != 1 {
		t.Errorf("%s %s share %v about %v", f.Confidence, f.Severity, f.Share, f.Subject)
	}

	// MySQL rounds to chunk × instances, and that is said: 480 MiB become 512.
	f = one(t, smallBufferPool, archive(func(m *snap.Made) {
		m.MySQL("8.0.33").Set("innodb_buffer_pool_instances", "1").Set("innodb_buffer_pool_chunk_size", "134217728")
	}))
	has(t, f, "innodb_buffer_pool_size = 480M")
	if f.Action == nil || f.Action.Value != "536870912" || !strings.Contains(f.Suggestion, "this server sets 512 MiB") {
		t.Errorf("action %+v; %s", f.Action, f.Suggestion)
	}

	// A server that cannot grow while it runs takes a restart.
	f = one(t, smallBufferPool, archive(func(m *snap.Made) {
		m.MySQL("5.6.14").Set("innodb_buffer_pool_instances", "8")
	}))
	if f.Action != nil || !f.Restart {
		t.Errorf("5.6 grows while it runs: %+v", f.Action)
	}
	// So does one whose upper bound is in the way.
	f = one(t, smallBufferPool, archive(func(m *snap.Made) {
		m.S.Target.Version = "11.8.6"
		m.Set("innodb_buffer_pool_size_max", "134217728")
	}))
	if f.Action != nil || !f.Restart {
		t.Errorf("11.8 outgrows its bound: %+v", f.Action)
	}

	// No more than there is.
	f = one(t, smallBufferPool, archive(replace("node_memory_MemAvailable_bytes", 2*gib-140*mib)))
	if f.Action == nil || f.Action.Value == "503316480" {
		t.Errorf("takes more memory than there is: %+v", f.Action)
	}
	f = one(t, smallBufferPool, archive(func(m *snap.Made) {
		m.S.Host.MemLimit = known.Of(uint64(200 * mib))
		m.S.Host.Process = map[string]uint64{"vmrss": 180 * mib}
	}))
	if f.Action != nil || len(f.Setting) > 0 || !strings.Contains(f.Suggestion, "more memory") {
		t.Errorf("no room in the control group: %+v %s", f.Action, f.Suggestion)
	}

	// Without performance_schema the time is guessed, and the finding less sure. Elsewhere nobody knows the memory.
	f = one(t, smallBufferPool, archive(drop("mysql_perf_schema_file_events_seconds_total")))
	if f.Confidence != finding.Likely {
		t.Errorf("guessed times are %s", f.Confidence)
	}
	f = one(t, smallBufferPool, archive(func(m *snap.Made) { m.S.Host.MemBytes = known.None[uint64]() }))
	if !strings.Contains(strings.Join(f.Against, " "), "must be free") {
		t.Errorf("memory nobody saw: %v", f.Against)
	}
}

func TestSmallBufferPoolSilent(t *testing.T) {
	silent(t, smallBufferPool, "nothing is seen", snap.Build())
	silent(t, smallBufferPool, "a pool that still fills",
		archive(replace(figures.PoolPages, 4000)))
	silent(t, smallBufferPool, "tables that fit: they are read for the first time",
		archive(func(m *snap.Made) { m.Last().DataBytes = known.Of(uint64(100 * mib)) }))
	silent(t, smallBufferPool, "few misses", archive(replace("mysql_global_status_innodb_buffer_pool_reads", 20)))
	silent(t, smallBufferPool, "many misses that nobody waits for",
		archive(replace("mysql_perf_schema_file_events_seconds_total", 0.02)))
	silent(t, smallBufferPool, "no counter of misses", archive(drop("mysql_global_status_innodb_buffer_pool_reads")))
	silent(t, smallBufferPool, "no window", archive(func(m *snap.Made) { m.S.To = m.S.From }))
}

// TestPartOfTheTime: the tables of a small part of the statement time are not those in use. What else runs may work on
// far more.
func TestPartOfTheTime(t *testing.T) {
	m := archive(func(m *snap.Made) {
		// a job on the only table whose class is large enough to be looked at
		m.S.Classes[0].TimeSec, m.S.Classes[0].Count = 1, 1000
		m.Last().DataBytes = known.Of(uint64(50 * mib))
		for i := range 300 {
			c := m.S.Classes[0]
			c.ID, c.Schema, c.TimeSec, c.Count = strings.Repeat("0", 13)+string(rune('0'+i/100))+
				string(rune('0'+i/10%10))+string(rune('0'+i%10)), "tenant", 0.3, 300
			m.S.Classes = append(m.S.Classes, c)
		}
		m.Table("tenants", 4_000_000)
		m.Last().DataBytes, m.Last().IndexBytes = known.Of(uint64(8*gib)), known.Of(uint64(0))
	})
	w, ok := working(m.View())
	if !ok || !w.all || w.bytes < 8*gib {
		t.Errorf("of one class in a hundredth of the time: %+v", w)
	}
	if w, ok := working(archive().View()); !ok || w.all || w.bytes != 400*mib {
		t.Errorf("of one that takes all the time: %+v", w)
	}
	if fs := smallBufferPool(m.View()); len(fs) != 1 {
		t.Errorf("%d findings where 50 MiB of what is read are known to fit", len(fs))
	}
}
