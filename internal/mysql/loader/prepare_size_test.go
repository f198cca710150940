package loader

import (
	"math"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestSized(t *testing.T) {
	s := servers.Start(t, "mariadb", "innodb_buffer_pool_size=64M")
	tg := open(t, s)
	f := func(size string, options map[string]string, want float64) {
		t.Helper()
		d, note, err := on(tg).Sized(t.Context(), load.Data{Workload: workload.ReadWrite{}, Options: options}, size)
		if err != nil || !strings.Contains(note, "table-size="+d.Options["table-size"]) {
			t.Errorf("%s: %q, %v", size, note, err)
			return
		}
		plan, err := d.Workload.Build(d.Options)
		if err != nil {
			t.Fatal(err)
		}
		if got := planBytes(plan, 1); math.Abs(got/want-1) > 0.01 {
			t.Errorf("%s: tables of %.0f bytes, want %.0f", size, got, want)
		}
	}
	f("1G", nil, 1<<30)
	f("1G", map[string]string{"tables": "4"}, 1<<30)
	f("2xPool", nil, 128<<20)
	m, err := host.FactsOf(s.PID)
	if err != nil {
		t.Fatal(err)
	}
	f("0.5xRAM", nil, float64(m.MemBytes.Or(0))/2)

	// And the server agrees.
	d, _, err := on(tg).Sized(t.Context(),
		load.Data{Workload: workload.ReadWrite{}, Options: map[string]string{"tables": "2"}},
		"20M")
	if err != nil {
		t.Fatal(err)
	}
	if err := on(tg).Prepare(t.Context(), d, nil); err != nil {
		t.Fatal(err)
	}
	var got float64
	if err := s.DB(t, "").QueryRow("SELECT SUM(DATA_LENGTH + INDEX_LENGTH) FROM information_schema.TABLES WHERE " +
		"TABLE_SCHEMA = 'sbtest'").Scan(&got); err != nil {
		t.Fatal(err)
	}
	if math.Abs(got/(20<<20)-1) > 0.2 {
		t.Errorf("the server says %.0f bytes, want about %d", got, 20<<20)
	}

	bad := func(size string, options map[string]string, mention string) {
		t.Helper()
		if _, _, err := on(tg).Sized(t.Context(), load.Data{Workload: workload.ReadWrite{}, Options: options},
			size); err == nil || !strings.Contains(err.Error(), mention) {
			t.Errorf("%s: %v, want an error about %q", size, err, mention)
		}
	}
	bad("much", nil, "10G, or a multiple")
	bad("0", nil, "at least")
	bad("0xRAM", nil, "above 0")
	bad("1G", map[string]string{"table-size": "5"}, "both say")
	bad("100000G", nil, "table-size")
}
