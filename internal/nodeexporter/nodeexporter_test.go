package nodeexporter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/program"
)

const page = `# HELP node_boot_time_seconds Node boot time, in unixtime.
# TYPE node_boot_time_seconds gauge
node_boot_time_seconds 1.7e+09
node_time_seconds 1.7000036005e+09
node_uname_info{domainname="(none)",machine="x86_64",nodename="db1",release="6.1.0-21-amd64",sysname="Linux",version="#1"} 1
node_cpu_seconds_total{cpu="0",mode="user"} 10.5
node_cpu_seconds_total{cpu="1",mode="user"} 20
node_cpu_seconds_total{cpu="0",mode="idle"} 1
node_cpu_guest_seconds_total{cpu="0",mode="user"} 5
node_memory_MemTotal_bytes 8e+09
node_load1 NaN
node_disk_reads_completed_total{device="sda"} 7
node_disk_reads_completed_total{device="sda1"} 7
node_disk_reads_completed_total{device="nvme0n1"} 8
node_disk_reads_completed_total{device="nvme0n1p1"} 8
node_disk_reads_completed_total{device="dm-0"} 9
node_filesystem_size_bytes{device="/dev/sda1",fstype="ext4",mountpoint="/"} 100
node_filesystem_avail_bytes{device="/dev/sda1",fstype="ext4",mountpoint="/"} 10
node_filesystem_size_bytes{device="/dev/sda",fstype="xfs",mountpoint="/var/lib"} 200
node_filesystem_avail_bytes{device="/dev/sda",fstype="xfs",mountpoint="/var/lib"} 20
node_filesystem_size_bytes{device="tmpfs",fstype="tmpfs",mountpoint="/var/lib/my"} 300
node_sysctl_vm_swappiness 60
`

func TestPage(t *testing.T) {
	p, err := parse([]byte(page), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if cpu := p.CPU(); len(p.CPUs) != 2 || cpu[0] != 30.5 || cpu[3] != 1 ||
		p.Age != 3600500*time.Millisecond || p.Nodename != "db1" {
		t.Errorf("%+v", p)
	}
	var got []string
	for _, s := range p.Samples {
		got = append(got, fmt.Sprint(s.Name, s.Labels, s.Value))
	}
	const want = "node_memory_MemTotal_bytes[] 8e+09 " +
		"node_disk_reads_completed_total[{device sda}] 7 " +
		"node_disk_reads_completed_total[{device nvme0n1}] 8 node_disk_reads_completed_total[{device dm-0}] 9"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("samples\n%s, want\n%s", s, want)
	}
	h := p.Host("/var/lib/mysql/")
	if h.CPUs.Or(0) != 2 || h.MemBytes.Or(0) != 8e9 || h.Kernel != "6.1.0-21-amd64" || h.DatadirFS != "xfs" ||
		h.DatadirDev != "sda" || h.DatadirSize.Or(0) != 200 || h.DatadirFree.Or(0) != 20 ||
		h.Settings["vm.swappiness"] != "60" {
		t.Errorf("%+v", h)
	}
	if h := p.Host("/var/library"); h.DatadirFree.Or(0) != 10 || h.DatadirDev != "sda" {
		t.Errorf("a filesystem beside: %+v", h)
	}
	if h := p.Host(""); h.DatadirFree.OK() || h.DatadirFS != "" {
		t.Errorf("no directory: %+v", h)
	}
	for _, bad := range []string{"", "<html>", "go_goroutines 5", "node_boot_time_seconds 5", page + "\nnode_load1 x"} {
		if p, err := parse([]byte(bad), time.Now()); err == nil {
			t.Errorf("%.20q is taken for a machine: %+v", bad, p)
		}
	}
}

// TestCheck: a machine that contradicts the server is told from one that may be its own.
func TestCheck(t *testing.T) {
	f := func(exporter, nodename string, age time.Duration, s Server, doubt, other string) {
		t.Helper()
		e := New(exporter)
		defer e.Close()
		got, err := e.Check(&Page{Nodename: nodename, Age: age}, s)
		if (err != nil) != (other != "") || err != nil && (!errors.Is(err, ErrOther) ||
			!strings.Contains(err.Error(), other)) || (got != "") != (doubt != "") || !strings.Contains(got, doubt) {
			t.Errorf("%s %s %v %+v: %q, %v; want %q, %q", exporter, nodename, age, s, got, err, doubt, other)
		}
	}
	const at = "http://db1:9100/metrics"
	s := Server{Uptime: time.Hour, Hostname: "db1", Address: "db1:3306"}
	f(at, "db1", 2*time.Hour, s, "", "")
	f(at, "DB1.example.org", 2*time.Hour, s, "", "")
	f(at, "db1", time.Hour-10*time.Second, s, "", "") // two clocks
	f(at, "db1", time.Minute, s, "", "the server has been up for 1 h, the machine of node_exporter for 1 min")
	f(at, "db2", 2*time.Hour, Server{time.Hour, "db1", "db9:3306"}, "", `"db1"`)
	f(at, "db1.a.org", 2*time.Hour, Server{time.Hour, "db1.b.org", "db9:3306"}, "", `"db1.b.org"`)
	f(at, "db1", 2*time.Hour, Server{time.Hour, "4f5c", "DB1:3307"}, `"4f5c"`, "") // a container
	f(at, "db1", time.Minute, Server{time.Hour, "4f5c", "db1:3307"}, "", "has been up for")
	// what a tunnel makes of it
	f("http://127.0.0.1:9100/", "db1", 2*time.Hour, Server{time.Hour, "db2", "127.0.0.1:3306"}, "", `"db2"`)
	f("http://localhost:9100/", "db1", 2*time.Hour, Server{time.Hour, "db2", "localhost:3306"}, "", `"db2"`)
	f(at, "db1", 2*time.Hour, Server{Uptime: time.Hour, Address: "db1:5432"}, "does not report", "")
	f(at, "", 2*time.Hour, s, "does not report", "")
	f(at, "localhost", 2*time.Hour, Server{time.Hour, "localhost.localdomain", "db1:3306"}, "does not report", "")
}

// TestExporterAnswers: what is no page is an error that says why, within a bound, and without the URL.
func TestExporterAnswers(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/metrics":
			fmt.Fprint(w, page)
		case "/moved":
			http.Redirect(w, r, "/metrics", http.StatusFound)
		case "/login":
			w.WriteHeader(http.StatusUnauthorized)
		case "/large":
			for i := 0; i <= maxPage/1000; i++ {
				fmt.Fprintf(w, "node_load1 %0989d\n", 1)
			}
		case "/hangs":
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	f := func(url, want string) {
		t.Helper()
		e := New(url)
		defer e.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := e.Take(ctx)
		if (err != nil) != (want != "") || err != nil && (!strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "http://")) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
	f(s.URL+"/metrics", "")
	f(s.URL+"/moved", "302, a redirect")
	f(s.URL+"/login", "wants a login")
	f(s.URL+"/none", "404")
	f(s.URL+"/large", "larger than 8 MiB")
	f(s.URL+"/hangs", "no answer within 4 s")
	f("http://"+program.Address(t)+"/metrics", "refused")

	e := New(s.URL + "/hangs")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := e.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it waits for longer than it may: %v", err)
	}
	e.Close() // does not wait for the answer
	if f := e.current(); f != nil && !errors.Is(f.err, context.Canceled) && !errors.Is(f.err, net.ErrClosed) {
		t.Errorf("the request is not ended: %v", f.err)
	}
}
