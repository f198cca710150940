package host

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
)

// tree makes a folder that looks like /proc and /sys.
func tree(t *testing.T, files map[string]string) FS {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return FS{Root: root}
}

func TestReadUnderstandsTheKernel(t *testing.T) {
	f := tree(t, map[string]string{
		"proc/stat": "cpu  100 200 300 400 500 600 700 800 50 0\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5 1 " +
			"2\nctxt 77\nbtime 1\nprocs_running 3\nprocs_blocked 2\n",
		"proc/meminfo": "MemTotal:        2048 kB\nMemFree:  1 kB\nHugePages_Total:       7\nDirty: x kB\n",
		"proc/loadavg": "0.50 1.25 2.00 1/200 3\n",
		"proc/diskstats": "   7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n 254 0 vda 10 1 16 2000 20 2 32 3000 4 5000 " +
			"6000 1 2 3 4 5 250\n 254 1 vda1 10 1 16 2000 20 2 32 3000 4 5000 6000\n 8 0 sda 1 0 8 0 0 0 0 0 0 0 0\n",
		"sys/block/vda/size":   "1",
		"sys/block/sda/size":   "1",
		"sys/block/loop0/size": "1",
		"proc/pressure/io": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0.00 avg60=0.00 " +
			"avg300=0.00 total=250000\n",
		"proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=2\n",
	})
	r, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}
	if want := (CPUTimes{1, 2, 3, 4, 5, 6, 7, 8}); r.CPU != want || r.CPU.Busy() != 1+2+3+6+7 {
		t.Errorf("cpu: %+v busy %v", r.CPU, r.CPU.Busy())
	}
	if r.ContextSwitches != known.Of(uint64(77)) || r.Runnable != known.Of(uint64(3)) ||
		r.Blocked != known.Of(uint64(2)) {
		t.Errorf("tasks: %+v", r)
	}
	m := r.Memory
	if m.Total != known.Of(uint64(2<<20)) || m.HugePagesTotal != known.Of(uint64(7)) ||
		m.Dirty.OK() || m.Available.OK() {
		t.Errorf("memory: %+v", m)
	}
	if r.Load != known.Of([3]float64{0.5, 1.25, 2}) {
		t.Errorf("load: %v", r.Load)
	}
	want := Disk{
		Device: "vda", Reads: 10, Writes: 20, ReadBytes: 8192, WriteBytes: 16384, ReadSec: 2, WriteSec: 3,
		BusySec: 5, WeightedSec: 6,
		InFlight: 4, Discards: known.Of(uint64(1)), DiscardBytes: known.Of(uint64(3 * 512)),
		Flushes: known.Of(uint64(5)), FlushSec: known.Of(0.25),
	}
	if len(r.Disks) != 2 || r.Disks[0] != want || r.Disks[1].Device != "sda" || r.Disks[1].Flushes.OK() {
		t.Errorf("disks: %+v", r.Disks)
	}
	if len(r.Pressure) != 2 || r.Pressure[0].Full.OK() || r.Pressure[1] != (Pressure{"io", 1.5, known.Of(0.25)}) {
		t.Errorf("pressure: %+v", r.Pressure)
	}
	if len(r.Problems) != 0 {
		t.Errorf("problems: %v", r.Problems)
	}
}

func TestReadNamesWhatIsMissing(t *testing.T) {
	r, err := tree(t, map[string]string{"proc/stat": "cpu  1 1 1 1 1\n"}).Read()
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]bool{}
	for _, p := range r.Problems {
		parts[p.Part] = errors.Is(p.Err, os.ErrNotExist)
	}
	if !parts["memory"] || !parts["load"] || !parts["disks"] || parts["pressure"] {
		t.Errorf("problems: %v", r.Problems)
	}
	if r.Memory.Total.OK() || r.Load.OK() || r.ContextSwitches.OK() {
		t.Errorf("what nobody read is known: %+v", r)
	}
	if _, err := tree(t, nil).Read(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no /proc: %v", err)
	}
	if _, err := tree(t, map[string]string{"proc/stat": "cpu  1 x 1 1 1\n"}).Read(); err == nil {
		t.Error("damaged times were accepted")
	}
}

// burn keeps one thread busy until it has used so much CPU.
func burn(d time.Duration) (x uint64) {
	for start := time.Now(); time.Since(start) < d; {
		for range 1000 {
			x = x*6364136223846793005 + 1
		}
	}
	return x
}

func TestReadSeesWork(t *testing.T) {
	a, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(burn(300 * time.Millisecond))
	b, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	if d := b.CPU.Busy() - a.CPU.Busy() + (b.CPU.Steal - a.CPU.Steal); d < 0.1 {
		t.Errorf("CPUs were busy for %.3f s while this test burned 0.3 s", d)
	}
	if b.Memory.Total.Or(0) < 1<<20 || b.ContextSwitches.Or(0) <= a.ContextSwitches.Or(0) {
		t.Errorf("memory %v, context switches %v then %v", b.Memory.Total, a.ContextSwitches, b.ContextSwitches)
	}
}

func BenchmarkRead(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(); err != nil {
			b.Fatal(err)
		}
	}
}
