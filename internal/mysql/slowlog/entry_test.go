package slowlog

import "testing"

func TestBegan(t *testing.T) {
	f := func(at int64, atBegin bool, sec float64, want int64) {
		t.Helper()
		e := Entry{At: at, AtBegin: atBegin, Figures: []Figure{{RowsSent, 3}, {QueryTime, sec}}}
		if got := e.Began(); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	f(5000000, false, 2, 3000000)
	f(5000000, true, 2, 5000000)
	f(0, false, 2, 0)
	if e := (Entry{At: 7}); e.Began() != 7 {
		t.Errorf("without Query_time: %d", e.Began())
	}
}
