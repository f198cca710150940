package load_test

import (
	"fmt"
	"testing"

	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/test/servers"
)

// counters are the server's own counts of what sessions have sent.
func counters(t *testing.T, s *servers.Server) (c struct{ questions, writes, others uint64 }) {
	t.Helper()
	rows, err := s.DB(t, "").Query("SHOW GLOBAL STATUS WHERE Variable_name IN " +
		"('Questions','Com_insert','Com_update','Com_delete','Com_begin','Com_commit','Com_rollback')")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var n uint64
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		switch name {
		case "Questions":
			c.questions = n
		case "Com_insert", "Com_update", "Com_delete":
			c.writes += n
		default:
			c.others += n
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCountsAreTheServersOwn holds the statements that a run reports against what the server has counted meanwhile.
func TestCountsAreTheServersOwn(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server) {
		const threads = 4
		const slack = threads + 2 // a good-bye may be counted a moment after the client is gone
		data := words("--tables=2 --table-size=5000")
		dyno(t, words("oltp_read_write prepare"), as(s), data)
		asked := func(workload string, events int, options ...string) (r loadresult.Tick, own int64) {
			t.Helper()
			before := counters(t, s)
			e := dyno(t, words(workload+" run --time=0 --output=json"), as(s), data, options,
				words(fmt.Sprintf("--threads=%d --events=%d", threads, events)))
			after := counters(t, s)
			_, sum := figures(t, e.out)
			r = sum.Total
			if n := r.Operations(); n != uint64(events) {
				t.Errorf("%s: %d operations, want %d", workload, n, events)
			}
			var writes, others uint64
			for _, o := range r.Ops {
				writes, others = writes+o.Writes, others+o.Others
			}
			if writes != after.writes-before.writes || others != after.others-before.others {
				t.Errorf("%s: %d writes and %d others, the server has seen %d and %d", workload, writes, others,
					after.writes-before.writes, after.others-before.others)
			}
			return r, int64(after.questions-before.questions) - int64(r.Queries())
		}
		for _, c := range []struct {
			workload string
			events   int
			options  string
		}{
			{"oltp_point_select", 20_000, ""},
			{"oltp_point_select", 3000, "--db-ps-mode=disable"},
			{"oltp_read_only", 500, ""},
			{"oltp_read_write", 300, ""},
			{"oltp_read_write", 300, "--driver=on"},
			{"oltp_write_only", 300, ""},
			{"oltp_insert", 300, ""},
			{"oltp_delete", 300, ""},
			{"oltp_update_index", 300, ""},
			{"oltp_update_non_index", 300, ""},
			{"select_random_points", 300, ""},
			{"select_random_ranges", 300, ""},
		} {
			// What Dyno asks for itself does not depend on the length of the run: so the difference of two runs is
			// exact.
			_, short := asked(c.workload, 10, words(c.options)...)
			r, long := asked(c.workload, c.events, words(c.options)...)
			if d := long - short; d < -slack || d > slack {
				t.Errorf("%s %s: of its own, Dyno asked %d questions in a run of 10 operations and %d in one of %d",
					c.workload, c.options, short, long, c.events)
			}
			const shortRun = 60_000 // queries of a few seconds
			if long < 0 || long > shortRun/1000 {
				t.Errorf("%s %s: the server counted %d more than the %d queries reported: that would be more than "+
					"0.1 %% of %d", c.workload, c.options, long, r.Queries(), shortRun)
			}
			t.Logf("%s %s: %d queries in %v, and %d of its own", c.workload, c.options, r.Queries(), r.Length, long)
		}
	})
}
