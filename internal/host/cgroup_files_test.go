package host

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/limit"
)

var (
	v1CPU    = Group{Version: 1, Controllers: []string{"cpu"}}
	v1Memory = Group{Version: 1, Controllers: []string{"memory"}}
	v1IO     = Group{Version: 1, Controllers: []string{"io"}}
	v2All    = Group{Version: 2, Controllers: []string{"cpu", "memory", "io"}}
)

func TestWrites(t *testing.T) {
	f := func(g Group, l limit.Limits, device string, want ...string) {
		t.Helper()
		var got []string
		for _, w := range g.writes(l, device) {
			got = append(got, w.file+" "+w.text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v of %+v:\n got %q\nwant %q", g, l, got, want)
		}
	}
	all := limit.Limits{CPU: 0.97, Memory: 1 << 30, ReadIOPS: 500, WriteIOPS: 400, ReadBPS: 5e6, WriteBPS: 8e6}
	f(v1CPU, all, "254:0", "cpu.cfs_quota_us -1", "cpu.cfs_period_us 20000", "cpu.cfs_quota_us 19400")
	f(v1CPU, limit.Limits{}, "", "cpu.cfs_quota_us -1")
	f(v1Memory, all, "", "memory.limit_in_bytes 1073741824")
	f(v1Memory, limit.Limits{}, "", "memory.limit_in_bytes -1")
	f(v1IO, all, "254:0", "blkio.throttle.read_iops_device 254:0 500", "blkio.throttle.write_iops_device 254:0 400",
		"blkio.throttle.read_bps_device 254:0 5000000", "blkio.throttle.write_bps_device 254:0 8000000")
	f(v1IO, limit.Limits{ReadBPS: 5e6}, "8:16", "blkio.throttle.read_iops_device 8:16 0",
		"blkio.throttle.write_iops_device 8:16 0",
		"blkio.throttle.read_bps_device 8:16 5000000", "blkio.throttle.write_bps_device 8:16 0")
	f(v1IO, all, "")
	f(v2All, all, "254:0", "cpu.max 19400 20000", "memory.max 1073741824", "io.max 254:0 rbps=5000000 wbps=8000000 "+
		"riops=500 wiops=400")
	f(v2All, limit.Limits{ReadIOPS: 9}, "254:0", "cpu.max max 100000", "memory.max max",
		"io.max 254:0 rbps=max wbps=max riops=9 wiops=max")
}

func TestBandwidth(t *testing.T) {
	f := func(cpus float64, quota, period int) {
		t.Helper()
		if q, p := bandwidth(cpus); q != quota || p != period {
			t.Errorf("%v CPUs: got %d of %d", cpus, q, p)
		}
	}
	f(0.97, 19400, 20000)
	f(1.5, 30000, 20000)
	f(0.05, 1000, 20000)
	f(0.04, 4000, 100000) // quotas below 1 ms are refused
	f(0.001, 1000, 1000000)
}

func TestRead(t *testing.T) {
	f := func(g Group, files map[string]string, want limit.Limits) {
		t.Helper()
		if got := g.read(func(name string) string { return strings.TrimSpace(files[name]) }, "254:0"); got != want {
			t.Errorf("%+v: got %+v, want %+v", files, got, want)
		}
	}
	f(v1CPU, map[string]string{"cpu.cfs_quota_us": "19400\n", "cpu.cfs_period_us": "20000\n"}, limit.Limits{CPU: 0.97})
	f(v1CPU, map[string]string{"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "20000\n"}, limit.Limits{})
	f(v1CPU, nil, limit.Limits{})
	f(v1Memory, map[string]string{"memory.limit_in_bytes": "9223372036854771712\n"}, limit.Limits{})
	f(v1Memory, map[string]string{"memory.limit_in_bytes": "1048576\n"}, limit.Limits{Memory: 1 << 20})
	f(v1IO, map[string]string{
		"blkio.throttle.read_bps_device":   "8:0 77\n254:0 5000000\n",
		"blkio.throttle.write_iops_device": "254:0 9\n",
	},
		limit.Limits{ReadBPS: 5e6, WriteIOPS: 9})
	f(v1IO, map[string]string{"blkio.throttle.read_bps_device": "254:00 5\n254:0\n"}, limit.Limits{})
	f(v2All, map[string]string{"cpu.max": "max 100000\n", "memory.max": "max\n", "io.max": ""}, limit.Limits{})
	f(v2All, map[string]string{
		"cpu.max": "50000 20000\n", "memory.max": "4096\n",
		"io.max": "8:16 rbps=2097152 wbps=max riops=max wiops=120\n254:0 rbps=max wbps=8000000 riops=500 wiops=max\n",
	}, limit.Limits{CPU: 2.5, Memory: 4096, WriteBPS: 8e6, ReadIOPS: 500})
}

// What is written is read back as it was wanted.
func TestEqual(t *testing.T) {
	all := limit.Limits{CPU: 1.0 / 3, Memory: 1<<30 + 5, ReadIOPS: 500, WriteIOPS: 400, ReadBPS: 5e6, WriteBPS: 8e6}
	got := all
	got.CPU, got.Memory = 6667.0/20000, 1<<30
	none := limit.Limits{}
	for _, s := range all.Wanted() {
		if !Equal(s.Name, all, got) {
			t.Errorf("%s: %+v is not taken for %+v", s.Name, got, all)
		}
		if Equal(s.Name, all, none) {
			t.Errorf("%s: none is taken for %+v", s.Name, all)
		}
	}
	if Equal(limit.CPU, limit.Limits{CPU: 0.97}, limit.Limits{CPU: 0.96}) ||
		Equal(limit.Memory, limit.Limits{Memory: 1 << 30}, limit.Limits{Memory: 1 << 29}) || Equal("x", all, all) {
		t.Error("what differs is taken for equal")
	}
}

func TestGroupFile(t *testing.T) {
	f := func(g Group, name, want string) {
		t.Helper()
		if got := g.File(name); got != want {
			t.Errorf("%s of v%d: %s", name, g.Version, got)
		}
	}
	f(v1CPU, limit.CPU, "cpu.cfs_quota_us")
	f(v1IO, limit.WriteBPS, "blkio.throttle.write_bps_device")
	f(v2All, limit.CPU, "cpu.max")
	f(v2All, limit.WriteBPS, "io.max")
	f(v2All, limit.Memory, "memory.max")
}
