package stand

import (
	"testing"

	"dyno/internal/plan"
)

// check asks for some of a plan's variants.
func (s *Stand) check(t *testing.T, p plan.Plan, vs ...plan.Variant) Needs {
	t.Helper()
	n, err := s.Check(t.Context(), p, vs)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCheckDisk: a loop device counts with its whole size, and of variants that share a place the largest one.
func TestCheckDisk(t *testing.T) {
	s := newStand(t)
	const text = `
server: mariadb
axes: [{setting: innodb_log_file_size, values: [512M, 64M]}]
probe: [{name: q, sql: SELECT 1}]
`
	p, vs := parse(t, text)
	large, small := s.check(t, p, vs[0]).Disk, s.check(t, p, vs[1]).Disk
	if large-small != (512-64)<<20 {
		t.Errorf("%d and %d bytes by themselves", large, small)
	}
	for _, order := range [][]plan.Variant{vs, {vs[1], vs[0]}} {
		if got := s.check(t, p, order...).Disk; got != large {
			t.Errorf("%d bytes for both on one place, want %d", got, large)
		}
	}
	p, vs = parse(t, text+"filesystem: ext4\n")
	if got := s.check(t, p, vs...).Disk; got < leastDevice {
		t.Errorf("%d bytes with a loop device of %d", got, int64(leastDevice))
	}
}
