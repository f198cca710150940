package host

import "testing"

func TestSameDisk(t *testing.T) {
	dir := t.TempDir()
	f := func(a, b string, want bool) {
		t.Helper()
		if got := SameDisk(a, b); got != want {
			t.Errorf("%s and %s: %v", a, b, got)
		}
	}
	f(dir, dir+"/not/there", true)
	f(dir, "/proc", false)
	f(dir, dir+"/\x00", false)
	if total, free, err := Room(dir); err != nil || total == 0 || free > total {
		t.Errorf("%d of %d, %v", free, total, err)
	}
}
