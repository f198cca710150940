package attribute

import "testing"

func TestOf(t *testing.T) {
	known := []Info{
		New("Full_scan", "Full scan", Flag),
		{Name: "Engine_reads", Key: "engine_reads", Label: "reads", Group: "Engine"},
	}
	f := func(key string, want Info) {
		t.Helper()
		if got := Of(key, known); got != want {
			t.Errorf("%s: %+v, want %+v", key, got, want)
		}
	}
	f("query_time", QueryTime)
	f("full_scan", known[0])
	f("engine_reads", known[1])
	f("engine_log_wait", Info{Key: "engine_log_wait", Label: "Log wait", Unit: Seconds, Group: "Engine"})
	f("rows_dreamt_of_at_night", Info{Key: "rows_dreamt_of_at_night", Label: "Rows dreamt "})
}
