package host

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dyno-perf/dyno/internal/known"
)

func TestDetailUnderstandsTheKernel(t *testing.T) {
	fs := tree(t, map[string]string{
		"proc/vmstat": "nr_free_pages 1\npswpin 7\npgmajfault 8\noom_kill 2\nworkingset_nodes 9\n",
		"proc/meminfo": "MemTotal:       24684092 kB\nAnonPages:  2 kB\nHugePages_Total:       5\nHugepagesize:      " +
			" 2048 kB\n",
		"proc/net/dev": "Inter-|   Receive                                                |  Transmit\n face |bytes  " +
			"  packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier " +
			"compressed\n" +
			"    lo: 10 1 0 0 0 0 0 0 10 1 0 0 0 0 0 0\n  ifb0:       0       0    0    0    0     0          0      " +
			"   0        0       0    0    0    0     0       0          0\n" +
			"eth0:11278687985 380407 3 4 0 0 0 0 19031855 211990 5 6 0 0 0 0\n",
		"proc/net/snmp": "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoAlgorithm " +
			"MaxConn CurrEstab RetransSegs\nTcp: 1 -1 12 34\n",
		"proc/net/netstat":                           "TcpExt: SyncookiesSent ListenOverflows\nTcpExt: 0 99\n",
		"proc/sys/fs/file-nr":                        "1680\t0\t2466186\n",
		"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
		"sys/devices/system/node/node1/meminfo":      "Node 1 MemTotal:       100 kB\nNode 1 MemFree:        40 kB\n",
		"sys/devices/system/node/node1/numastat":     "numa_hit 11\nnuma_miss 12\nnuma_foreign 13\ninterleave_hit 1\n",
		"sys/devices/system/node/node0/meminfo":      "Node 0 MemTotal:       200 kB\nNode 0 MemFree:        50 kB\n",
	})
	got := fs.ReadDetail()
	want := Detail{
		VM:     []Counted{{"pswpin", 7}, {"pgmajfault", 8}, {"oom_kill", 2}},
		Memory: []Counted{{"AnonPages", 2048}, {"HugePages_Total", 5}, {"Hugepagesize", 2 << 20}},
		Networks: []Network{
			{Device: "lo", RxBytes: 10, RxPackets: 1, TxBytes: 10, TxPackets: 1},
			{
				Device: "eth0", RxBytes: 11278687985, RxPackets: 380407, RxErrors: 3, RxDropped: 4, TxBytes: 19031855,
				TxPackets: 211990, TxErrors: 5, TxDropped: 6,
			},
		},
		TCP: []Counted{
			{"Tcp_CurrEstab", 12},
			{"Tcp_RetransSegs", 34},
			{"TcpExt_SyncookiesSent", 0},
			{"TcpExt_ListenOverflows", 99},
		},
		FilesOpen: known.Of[uint64](1680), FilesMax: known.Of[uint64](2466186), THP: "madvise",
		Nodes: []Node{{ID: 0, Total: 200 << 10, Free: 50 << 10}, {
			ID: 1, Total: 100 << 10, Free: 40 << 10, Hit: 11,
			Miss: 12, Foreign: 13,
		}},
	}
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b known.Value[uint64]) bool { return a == b })); d != "" {
		t.Error(d)
	}
}

func TestDetailNamesWhatIsMissing(t *testing.T) {
	d := tree(t, map[string]string{"proc/vmstat": "pswpin 7\n"}).ReadDetail()
	if len(d.VM) != 1 || d.FilesOpen.OK() || d.THP != "" || len(d.Nodes) != 0 {
		t.Errorf("%+v", d)
	}
	var parts []string
	for _, p := range d.Problems {
		parts = append(parts, p.Part)
		if !errors.Is(p.Err, os.ErrNotExist) {
			t.Errorf("%+v", p)
		}
	}
	if want := []string{"memory", "networks", "TCP", "TCP", "open files"}; !slices.Equal(parts, want) {
		t.Errorf("got %v, want %v", parts, want)
	}
}

// TestDetailSeesWork moves bytes over the loopback and looks for them.
func TestDetailSeesWork(t *testing.T) {
	sent := func(d Detail) (n uint64) {
		for _, x := range d.Networks {
			if x.Device == "lo" {
				return x.TxBytes
			}
		}
		return 0
	}
	a := ReadDetail()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, err = io.Copy(io.Discard, c)
			c.Close()
		}
		done <- err
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	const n = 4 << 20
	if _, err := c.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	b := ReadDetail()
	if got := sent(b) - sent(a); got < n {
		t.Errorf("%d bytes were sent, the kernel shows %d", n, got)
	}
	if len(b.VM) < 5 || len(b.Memory) < 5 || len(b.TCP) < 5 || len(b.Problems) > 0 {
		t.Errorf("%+v", b)
	}
}

func TestProcessDetailSeesItself(t *testing.T) {
	a, err := ProcessDetail(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	var open []*os.File
	for range 50 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, f)
	}
	b, err := ProcessDetail(os.Getpid())
	for _, f := range open {
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	x, _ := a.Files.Get()
	y, _ := b.Files.Get()
	if y < x+45 || y > x+60 { // other tests may open and close some
		t.Errorf("%d files, then %d", x, y)
	}
	if m, ok := b.FilesMax.Get(); !ok || m < y {
		t.Errorf("at most %v", b.FilesMax)
	}
	if p, ok := b.PeakRSS.Get(); !ok || p < 1<<20 {
		t.Errorf("peak %v", p)
	}
	if !b.Swap.OK() || !b.Anonymous.OK() {
		t.Errorf("%+v", b)
	}
	if _, err := ProcessDetail(1 << 30); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a process that is not there: %v", err)
	}
}

func TestProcessMemorySeesItself(t *testing.T) {
	a, err := ProcessMemory(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	held := make([]byte, 64<<20)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	b, err := ProcessMemory(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if got := int64(b.Anonymous) - int64(a.Anonymous); got < 60<<20 || held[4096] != 1 {
		t.Errorf("64 MiB more are shown as %d", got)
	}
	if b.RSS < b.PSS || b.PSS < b.Anonymous/2 {
		t.Errorf("%+v", b)
	}
	if _, err := ProcessMemory(1 << 30); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a process that is not there: %v", err)
	}
}

func TestCPUsAddUp(t *testing.T) {
	r, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	all, err := CPUs()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, c := range all {
		sum += c.User
	}
	if len(all) == 0 || sum < r.CPU.User-1 || sum > r.CPU.User+60 {
		// read a moment later, by a machine that may be busy
		t.Errorf("%d CPUs with %v s of users, all together %v", len(all), sum, r.CPU.User)
	}
}

func TestRoom(t *testing.T) {
	total, avail, err := Room(t.TempDir())
	if err != nil || total == 0 || avail > total {
		t.Errorf("%d of %d: %v", avail, total, err)
	}
	if _, _, err := Room(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
