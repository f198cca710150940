package loader

import (
	"errors"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestWarm reads tables on both servers, and sees in the server's own counter that every row was.
func TestWarm(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		d := load.Data{
			Workload: workload.ReadOnly{}, Options: map[string]string{"tables": "2", "table-size": "3000"},
			Threads: 2,
		}
		if _,
			err := on(tg).Warm(t.Context(), d, nil); err == nil || !strings.Contains(err.Error(), "prepare it first") {
			t.Fatalf("nothing is prepared: %v", err)
		}
		if err := on(tg).Prepare(t.Context(), d, nil); err != nil {
			t.Fatal(err)
		}
		pages := func() (n int) {
			t.Helper()
			var name string
			q := "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_read_requests'"
			if err := tg.DB().QueryRowContext(t.Context(), q).Scan(&name, &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := pages()
		var last progress.Progress
		read, err := on(tg).Warm(t.Context(), d, func(p progress.Progress) { last = p })
		if err != nil {
			t.Fatal(err)
		}
		if len(read) != 2 {
			t.Fatalf("read %+v", read)
		}
		for _, r := range read {
			if r.Rows != 3000 || r.Indexes != 2 {
				t.Errorf("%+v, want 3000 rows and the two indexes", r)
			}
		}
		if !last.End || last.Done != 4 {
			t.Errorf("progress ended at %+v", last)
		}
		if n := pages() - before; n < 2*40 { // a table has about 45 pages of rows, and some of its index
			t.Errorf("the server looked at %d pages", n)
		}
	})
}

func TestWarmOfNothing(t *testing.T) {
	var none Server
	if _, err := none.Warm(t.Context(), load.Data{}, nil); err == nil {
		t.Error("no workload was read")
	}
	bad := load.Data{Workload: workload.ReadOnly{}, Options: map[string]string{"tables": "x"}}
	var option *workload.OptionError
	if _, err := none.Warm(t.Context(), bad, nil); !errors.As(err, &option) {
		t.Errorf("got %v", err)
	}
}
