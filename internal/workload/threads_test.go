package workload

import (
	"testing"
)

func TestWithThreads(t *testing.T) {
	f := func(w Workload, given map[string]string, n int, want string) {
		t.Helper()
		before := len(given)
		if got := WithThreads(w, given, n)["threads"]; got != want {
			t.Errorf("%s with %v for %d sessions: threads %q, want %q", w.Name(), given, n, got, want)
		}
		if len(given) != before {
			t.Errorf("what was given became %v", given)
		}
	}
	f(BulkInsert{}, nil, 4, "4")
	f(RandomPoints{}, map[string]string{"tables": "1"}, 16, "16")
	f(RandomRanges{}, map[string]string{"threads": "2"}, 16, "2")
	f(RandomRanges{}, nil, 0, "")
	f(ReadOnly{}, nil, 4, "")
	for _, w := range All() {
		if _, err := w.Build(WithThreads(w, nil, 3)); err != nil {
			t.Errorf("%s: %v", w.Name(), err)
		}
	}
}
