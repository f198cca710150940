package logdigest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

func TestOriginsAreNumberedOnce(t *testing.T) {
	o := newOrigins()
	seen := map[uint32]origin{}
	for round := range 2 {
		for i := range 3000 {
			x := origin{fmt.Sprint("u", i%3), "ip-10-0-" + fmt.Sprint(i) + "-internal", strings.Repeat("d", i%20)}
			n := o.of(&slowlog.Entry{User: []byte(x.user), Host: []byte(x.host), DB: []byte(x.db)})
			if have, ok := seen[n]; ok != (round == 1) || ok && have != x {
				t.Fatalf("%v has number %d, of %v", x, n, have)
			}
			seen[n] = x
			if o.list[n] != x || o.number(x) != n {
				t.Fatalf("number %d is %v, want %v", n, o.list[n], x)
			}
		}
	}
	if n := o.number(o.list[others]); n != others {
		t.Errorf("the others have number %d", n)
	}
	// A user with the name of the others is not the others.
	if n := o.of(&slowlog.Entry{User: []byte(othersName)}); n == others {
		t.Error("a user became the others")
	}
}

func TestOriginsAreBounded(t *testing.T) {
	a := New(Config{})
	n := maxOrigins + 100
	for i := range n {
		e := timed("select 1", int64(i), 1, 1)
		e.User, e.Host = []byte("u"), fmt.Append(nil, i)
		a.Add(nil, &e, 0)
	}
	r := a.Report(digest.Options{})
	c := r.Classes[0]
	sum, rest := uint64(0), uint64(0)
	for _, h := range c.Hosts {
		sum += h.Count
		if h.Name == othersName {
			rest = h.Count
		}
	}
	if sum != uint64(n) || len(c.Hosts) != maxTallies || rest != uint64(n-maxTallies+1) {
		t.Errorf("%d of %d statements by %d hosts, %d by others", sum, n, len(c.Hosts), rest)
	}
	if len(r.Global.Notes) != 1 || !strings.Contains(r.Global.Notes[0], "combinations") {
		t.Errorf("notes %q", r.Global.Notes)
	}
}

func TestEmptyNamesAreNoNames(t *testing.T) {
	e := timed("select 1", 0, 1, 1)
	e.Host = []byte("h")
	c := aggregate(Config{}, []slowlog.Entry{e}).Report(digest.Options{}).Classes[0]
	if c.Users != nil || c.Databases != nil || len(c.Hosts) != 1 {
		t.Errorf("users %v, databases %v, hosts %v", c.Users, c.Databases, c.Hosts)
	}
}
