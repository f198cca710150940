package digestsource

import "testing"

func TestIsRotated(t *testing.T) {
	f := func(base, name string, want bool) {
		t.Helper()
		if got := isRotated(base, name); got != want {
			t.Fatalf("%s is %s after rotation: %v, want %v", name, base, got, want)
		}
	}
	for _, name := range []string{
		"slow.log.1", "slow.log.12.gz", "slow.log-20261121", "slow.log-20261121.zst",
		"slow-20261121.log", "slow.log-2026-11-21T10:00:00.gz", "slow.log.old", "slow-1.log.gz",
	} {
		f("slow.log", name, true)
	}
	for _, name := range []string{
		"slow.log.state", "slow2.log", "slow.log2.new", "slow-errors.log", "other.log.1",
		"slow.log.1.state", "slow",
	} {
		f("slow.log", name, false)
	}
	f("slowlog", "slowlog.1", true)
	f("slowlog", "slowlog.1.gz", true)
	f("slowlog", "slowlogs", false)
}

func TestHeadPrint(t *testing.T) {
	p := printOf([]byte("banner\n# Time: 1"))
	f := func(head string, want bool) {
		t.Helper()
		if got := p.begins([]byte(head)); got != want {
			t.Fatalf("%q: %v, want %v", head, got, want)
		}
	}
	f("banner\n# Time: 1", true)
	f("banner\n# Time: 1 and more", true)
	f("banner\n# Time: 2", false)
	f("banner\n", false)
	f("", false)
}
