package config

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/test/snap"
)

func buffered(more ...func(*snap.Made)) *snap.Made {
	return archive(append([]func(*snap.Made){func(m *snap.Made) { m.Set("innodb_flush_method", "fsync") }}, more...)...)
}

func TestDoubleBuffering(t *testing.T) {
	f := one(t, doubleBuffering, buffered())
	has(t, f, "innodb_flush_method = O_DIRECT")
	has(t, f, "innodb_buffer_pool_size = 480M")
	if f.Action != nil || !f.Restart || !strings.Contains(f.Title, "100 %") {
		t.Errorf("%+v restart %v: %s", f.Action, f.Restart, f.Title)
	}
	f = one(t, doubleBuffering, buffered(func(m *snap.Made) { // MariaDB from 11.0 on has a switch of its own
		m.Set("innodb_data_file_buffering", "ON").Set("innodb_flush_method", "O_DIRECT")
		m.S.Target.Version = "11.4.5"
	}))
	has(t, f, "innodb_data_file_buffering = OFF")
}

func TestDoubleBufferingSilent(t *testing.T) {
	silent(t, doubleBuffering, "direct I/O", buffered(func(m *snap.Made) { m.Set("innodb_flush_method", "O_DIRECT") }))
	silent(t, doubleBuffering, "direct I/O without fsync", buffered(func(m *snap.Made) {
		m.Set("innodb_flush_method", "O_DIRECT_NO_FSYNC")
	}))
	silent(t, doubleBuffering, "reads that come from the disk",
		buffered(replace("dyno_server_io_read_bytes_total", 1900*16384)))
	silent(t, doubleBuffering, "everything is in the pool",
		buffered(replace("mysql_global_status_innodb_buffer_pool_reads", 0)))
	silent(t, doubleBuffering, "where reads come from was not seen", buffered(drop("dyno_server_io_read_bytes_total")))
	silent(t, doubleBuffering, "no memory for the pool: the cache is the better place",
		buffered(func(m *snap.Made) { m.S.Host.MemBytes = known.Of(uint64(160 * mib)) }))
	silent(t, doubleBuffering, "the tables fit", buffered(func(m *snap.Made) {
		m.Last().DataBytes = known.Of(uint64(90 * mib))
	}))
}
