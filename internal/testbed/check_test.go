package testbed

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/plan"
)

// check asks for some of a plan's variants.
func (s *Testbed) check(t *testing.T, p plan.Plan, vs ...plan.Variant) Needs {
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

// TestCheckMemory: a limit of the plan below what a server needs is told, of the variants that it is true of.
func TestCheckMemory(t *testing.T) {
	s := newStand(t)
	p, vs := parse(t, `
server: mariadb
limits: {memory: 512M}
axes: [{setting: innodb_buffer_pool_size, values: [64M, 2G]}]
probe: [{name: q, sql: SELECT 1}]
`)
	told := func(v plan.Variant, want bool) {
		t.Helper()
		n := s.check(t, p, vs...)
		if got := slices.ContainsFunc(n.Warnings, func(w string) bool {
			return strings.HasPrefix(w, v.Key+": ") && strings.Contains(w, "is limited to 512 MiB: it may be killed")
		}); got != want {
			t.Errorf("%s: %q", v.Key, n.Warnings)
		}
	}
	told(vs[0], false)
	told(vs[1], true)
}

func TestLesser(t *testing.T) {
	const none = -1
	f := func(machine, groups, want int64, mine bool) {
		t.Helper()
		of := func(n int64) known.Value[uint64] {
			if n == none {
				return known.None[uint64]()
			}
			return known.Of(uint64(n))
		}
		got, whose, ok := lesser(of(machine), of(groups))
		if ok != (want != none) || ok && got != want || (whose != "") != mine {
			t.Errorf("%d and %d: %d%s, %v", machine, groups, got, whose, ok)
		}
	}
	f(100, none, 100, false)
	f(100, 200, 100, false)
	f(100, 50, 50, true)
	f(100, 0, 0, true)
	f(none, 50, 50, true)
	f(none, none, none, false)
}

// TestCheckCPUs: a variant on CPUs that this machine does not have is told before the first trial, and the plan goes on
// without it; a baseline on them keeps all from running.
func TestCheckCPUs(t *testing.T) {
	s := newStand(t)
	allowed, err := host.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	here := strconv.Itoa(allowed[0])
	p, vs := parse(t, `
server: mariadb
placement: free
axes: [{cpus: ["`+here+`", "1000"]}]
probe: [{name: q, sql: SELECT 1}]
`)
	n := s.check(t, p, vs...)
	if len(n.Problems) > 0 || !slices.ContainsFunc(n.Warnings, func(w string) bool {
		return strings.HasPrefix(w, "cpus=1000 will fail: ") && strings.Contains(w, "1000")
	}) {
		t.Errorf("problems %q, warnings %q", n.Problems, n.Warnings)
	}
	p, vs = parse(t, `
server: mariadb
placement: free
axes: [{cpus: ["1000", "`+here+`"]}]
probe: [{name: q, sql: SELECT 1}]
`)
	if n := s.check(t, p, vs...); len(n.Problems) != 1 || !strings.HasPrefix(n.Problems[0], "cpus=1000: ") {
		t.Errorf("problems %q, warnings %q", n.Problems, n.Warnings)
	}
	// Of several rows the one whose baseline cannot be had is left out, and the others go on.
	p, vs = parse(t, `
server: mariadb
placement: free
axes: [{cpus: ["1000", "`+here+`"]}, {setting: innodb_buffer_pool_size, values: [64M, 128M]}]
probe: [{name: q, sql: SELECT 1}]
`)
	if n := s.check(t, p, vs...); len(n.Problems) > 0 || len(n.Warnings) < 2 ||
		!strings.HasPrefix(n.Warnings[0], "cpus=1000,innodb_buffer_pool_size=64M will fail: ") {
		t.Errorf("problems %q, warnings %q", n.Problems, n.Warnings)
	}
}

// TestApart: whether server and client have CPUs of their own is a matter of the variant, too.
func TestApart(t *testing.T) {
	f := func(placed bool, client, own string, want bool) {
		t.Helper()
		s := &Testbed{cpus: &cpus{apart: placed, client: client}}
		j := &job{}
		j.config.CPUs = own
		if got := apart(s.cpus, j); got != want {
			t.Errorf("placed apart: %v, client %q, variant %q: %v", placed, client, own, got)
		}
	}
	f(true, "1", "", true)
	f(false, "", "", false)
	f(true, "1", "0", true)
	f(true, "1", "0-1", false)
	f(true, "1", "1", false)
	f(false, "1", "0", true)
}
