package loader

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestShortTablesAreTold(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		prepared(t, tg, map[string]string{"table-size": "200", "tables": "3"})
		f := func(size, tables, mention string) {
			t.Helper()
			r, err := on(tg).Run(t.Context(), load.Config{
				Workload: workload.PointSelect{},
				Options:  map[string]string{"table-size": size, "tables": tables}, Events: 10,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "ids to 200 only") })
			if (i >= 0) != (mention != "") || i >= 0 && !strings.Contains(r.Warnings[i], mention) {
				t.Errorf("table-size %s: warnings %q, want %q", size, r.Warnings, mention)
			}
		}
		f("200", "3", "")
		f("150", "1", "")
		f("201", "1", "sbtest.sbtest1 has")
		f("1000", "2", "and 1 more table is as short")
		f("1000", "3", "and 2 more tables are as short")
	})
}
