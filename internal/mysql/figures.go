package mysql

import (
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/capture"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/mysql/sources"
	"github.com/dyno-perf/dyno/internal/state"
)

// Headline implements family.Figures.
func (Family) Headline() *state.Names { return sources.Headline }

// Help implements family.Figures.
func (Family) Help(name string) string { return sources.Help.Of(name) }

// Tidy implements family.Tidier.
func (Family) Tidy(series []metric.Series) []metric.Series { return capture.Tidy(series) }

// Names implements family.Figures.
func (Family) Names() family.Names {
	const status, settings = "mysql_global_status_", "mysql_global_variables_"
	refs := func(f metric.Family, of ...string) (all []metric.Ref) {
		for _, x := range of {
			all = append(all, f.Ref(x))
		}
		return all
	}
	return family.Names{
		Statements: metric.Ref{Name: status + "questions"},
		RowReads: refs(figures.Handlers, "read_first", "read_key", "read_last", "read_next", "read_prev", "read_rnd",
			"read_rnd_next"),
		RowLockTime: metric.Ref{Name: status + "innodb_row_lock_time"},
		Connected:   metric.Ref{Name: status + "threads_connected"},
		Limit:       metric.Ref{Name: settings + "max_connections"},
		Refused:     refs(figures.ConnectionErrors, "max_connections", "internal", "accept"),
		Telling:     telling,
		Settings:    settings, LimitName: "max_connections", Status: "InnoDB status",
	}
}

// telling is as of family.Names: sizes are in bytes, as the server writes them.
func telling(settings map[string]string) (all []family.Setting) {
	for _, name := range []string{
		"innodb_buffer_pool_size", "innodb_log_file_size", "innodb_redo_log_capacity",
		"innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin", "performance_schema", "query_cache_type",
	} {
		if v, ok := settings[name]; ok {
			all = append(all, family.Setting{Name: name, Value: v})
		}
	}
	return all
}
