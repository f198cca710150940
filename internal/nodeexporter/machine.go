package nodeexporter

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Server is what a server says of itself, by which its machine is known.
type Server struct {
	Uptime   time.Duration // since its start; 0 for unknown
	Hostname string        // "" where it does not report it
	Address  string        // host:port or the path of a socket, as its URL has it
}

// ErrOther says that a machine is not the server's.
var ErrOther = errors.New("that is not the server's machine")

// slack is how far two ages of different clocks and moments may be apart.
const slack = 15 * time.Second

// Check compares the machine with a server. The error is an ErrOther that says what contradicts: the server has run
// for longer than the machine, or the two have different names although their URLs do not name one host. doubt says why
// the machine is not known to be the server's although nothing contradicts; "" where the names are equal.
func (e *Exporter) Check(p *Page, s Server) (doubt string, err error) {
	if s.Uptime > p.Age+slack {
		return "", fmt.Errorf("%w: the server has been up for %s, the machine of node_exporter for %s", ErrOther,
			unit.Duration(s.Uptime), unit.Duration(p.Age))
	}
	switch {
	case !telling(s.Hostname):
		return "the server does not report the name of its host", nil
	case !telling(p.Nodename):
		return "node_exporter does not report the name of its machine", nil
	case sameName(s.Hostname, p.Nodename):
		return "", nil
	case e.sameHost(s.Address): // a server in a container has a host name of its own
		return fmt.Sprintf("the server calls its host %q, node_exporter %q", s.Hostname, p.Nodename), nil
	}
	return "", fmt.Errorf("%w: the server calls its host %q, node_exporter calls its machine %q", ErrOther, s.Hostname,
		p.Nodename)
}

// telling reports whether a name tells one host from another.
func telling(name string) bool {
	first, _, _ := strings.Cut(strings.ToLower(name), ".")
	return first != "" && first != "localhost"
}

// sameName compares names of hosts, one of which may have its domain.
func sameName(a, b string) bool {
	a, b = strings.ToLower(strings.TrimSuffix(a, ".")), strings.ToLower(strings.TrimSuffix(b, "."))
	if a == b {
		return true
	}
	firstA, domainA, _ := strings.Cut(a, ".")
	firstB, domainB, _ := strings.Cut(b, ".")
	return firstA == firstB && (domainA == "" || domainB == "")
}

// sameHost reports whether the URLs of the server and of the exporter name the same host. This machine's own address
// says nothing: a tunnel may begin there.
func (e *Exporter) sameHost(address string) bool {
	host, _, err := net.SplitHostPort(address)
	u, err2 := url.Parse(e.url)
	if err != nil || err2 != nil || !strings.EqualFold(host, u.Hostname()) || strings.EqualFold(host, "localhost") {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err != nil || !ip.IsLoopback()
}

// Room returns the filesystem that holds a directory: the one with the longest mount point above it.
func (p *Page) Room(dir string) (size, avail float64, ok bool) {
	m, ok := p.at(dir)
	return m.size, m.avail, ok && m.hasSize && m.hasAvail
}

func (p *Page) at(dir string) (best mount, ok bool) {
	if !path.IsAbs(dir) {
		return best, false
	}
	dir = path.Clean(dir)
	for _, m := range p.mounts {
		below := dir == m.point || strings.HasPrefix(dir, strings.TrimSuffix(m.point, "/")+"/")
		if below && len(m.point) > len(best.point) {
			best, ok = m, true
		}
	}
	return best, ok
}

// Host returns what a snapshot holds of the machine. datadir is where the server keeps its data on it, "" where that is
// not known. A server in a container may have less of the CPUs and the memory than the machine.
func (p *Page) Host(datadir string) snapshot.Host {
	h := snapshot.Host{CPUs: known.Of(float64(len(p.CPUs))), Kernel: p.Kernel, Settings: p.settings}
	nodes := 0
	for _, s := range p.Samples {
		switch s.Name {
		case "node_memory_MemTotal_bytes":
			h.MemBytes = known.Of(uint64(max(0, s.Value)))
		case "node_memory_numa_MemTotal":
			nodes++
		}
	}
	if nodes > 0 {
		h.NUMANodes = known.Of(nodes)
	}
	if m, ok := p.at(datadir); ok {
		h.DatadirFS = m.kind
		if d := strings.TrimPrefix(m.device, "/dev/"); p.whole(d) != "" {
			h.DatadirDev = p.whole(d)
		} else if p.disks[d] {
			h.DatadirDev = d
		}
		if size, avail, ok := p.Room(datadir); ok {
			h.DatadirSize, h.DatadirFree = known.Of(uint64(max(0, size))), known.Of(uint64(max(0, avail)))
		}
	}
	return h
}
