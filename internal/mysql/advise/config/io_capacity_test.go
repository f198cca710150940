package config

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/test/snap"
)

// heldBack is a server that may write 100 pages a second and changes 600.
func heldBack(more ...func(*snap.Made)) *snap.Made {
	m := writing(drop(figures.PoolDirtyPages))
	m.Set("innodb_io_capacity", "100").Set("innodb_io_capacity_max", "200").Set("innodb_max_dirty_pages_pct", "20").
		Set("innodb_log_file_size", "536870912")
	replace("mysql_global_status_innodb_checkpoint_age", 60*mib)(m)
	replace("mysql_global_status_innodb_checkpoint_max_age", 400*mib)(m)
	replace("mysql_global_status_innodb_lsn_current", mib)(m)
	status(m, "Innodb_buffer_pool_pages_total", 30_000)
	status(m, "Innodb_buffer_pool_pages_free", 9000)
	changed(m, "Innodb_buffer_pool_pages_dirty", 8000, 13_000)
	m.Status("Innodb_buffer_pool_pages_flushed", 105).Status("Innodb_buffer_pool_reads", 0).
		Status("Innodb_data_read", 0)
	m.S.Host.DatadirDev = "sda"
	m.Rate("node_disk_io_time_seconds_total", 0.2, "device", "sda")
	for _, f := range more {
		f(m)
	}
	return m
}

func TestIoCapacity(t *testing.T) {
	f := one(t, ioCapacity, heldBack())
	has(t, f, "innodb_io_capacity = 2000")
	has(t, f, "innodb_io_capacity_max = 4000")
	if f.Action == nil || f.Action.Variable != "innodb_io_capacity" || f.Action.Value != "2000" ||
		f.Confidence != finding.Certain {
		t.Errorf("%+v %s", f.Action, f.Confidence)
	}
	f = one(t, ioCapacity, heldBack(func(m *snap.Made) {
		m.MySQL("9.7.4").Set("innodb_redo_log_capacity", "536870912")
	}))
	if f.Action.Variable != "innodb_io_capacity_max" || f.Action.Value != "4000" ||
		!strings.Contains(f.Suggestion, "SET GLOBAL innodb_io_capacity = 2000") {
		t.Errorf("MySQL takes nothing above the maximum: %+v %s", f.Action, f.Suggestion)
	}
	// A backlog that holds all pages in use grows no more.
	if f = one(t, ioCapacity, heldBack(replace(figures.PoolDirtyPages,
		13_000))); !strings.Contains(f.Title, "43 %") {
		t.Error(f.Title)
	}
	if f = one(t, ioCapacity, heldBack(func(m *snap.Made) { m.S.Host.DatadirDev = "" })); f.Confidence !=
		finding.Likely || len(f.Unobserved) == 0 {
		t.Errorf("a disk nobody saw: %s %v", f.Confidence, f.Unobserved)
	}
	f = one(t, ioCapacity, heldBack(func(m *snap.Made) { m.Set("innodb_io_capacity_max", "10000") }))
	if len(f.Setting) != 1 {
		t.Errorf("the maximum is high enough: %v", f.Setting)
	}
}

func TestIoCapacitySilent(t *testing.T) {
	silent(t, ioCapacity, "nothing is seen", snap.Build())
	silent(t, ioCapacity, "it writes far less than it may: nothing presses",
		heldBack(replace(figures.PoolPageChanges, 10)))
	silent(t, ioCapacity, "it writes far more than that says",
		heldBack(replace(figures.PoolPageChanges, 900)))
	silent(t, ioCapacity, "a small backlog that does not grow",
		heldBack(replace(figures.PoolDirtyPages, 8000)))
	silent(t, ioCapacity, "changed pages become fewer",
		heldBack(drop(figures.PoolDirtyPages),
			func(m *snap.Made) { changed(m, "Innodb_buffer_pool_pages_dirty", 15_000, 13_000) }))
	silent(t, ioCapacity, "a busy disk", heldBack(replace("node_disk_io_time_seconds_total", 0.95)))
	silent(t, ioCapacity, "few changed pages, as the server wants it",
		heldBack(func(m *snap.Made) { m.Set("innodb_max_dirty_pages_pct", "90") },
			replace("mysql_global_status_innodb_checkpoint_age", 10*mib)))
	silent(t, ioCapacity, "a log that lasts for hours", heldBack(func(m *snap.Made) {
		m.Set("innodb_max_dirty_pages_pct", "40")
	}, replace("mysql_global_status_innodb_lsn_current", 10_000)))
}
