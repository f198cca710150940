package app

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/postgres/loader"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/fault"
)

// TestFaultsOfAllFamilies: a name that several families have is listed once, each plants its own, and one that has none
// of that name says who does.
func TestFaultsOfAllFamilies(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Faults() {
		if seen[f.Name] || len(f.Flavors) == 0 {
			t.Errorf("%s is listed twice, or exists nowhere: %v", f.Name, f.Flavors)
		}
		seen[f.Name] = true
	}
	for _, x := range Families() {
		set := x.(faulty).Faults()
		if set.Plain == nil || set.File == "" || set.URL == "" || len(set.Flavors) == 0 {
			t.Errorf("%s: %+v", x.Name(), set)
		}
		for _, f := range set.Faults {
			if !seen[f.Name] {
				t.Errorf("%s of %s is not listed", f.Name, x.Name())
			}
			flavor := set.Flavors[0]
			if len(f.Flavors) > 0 {
				flavor = f.Flavors[0]
			}
			if _, err := FaultOn(f.Name, flavor, ""); err != nil {
				t.Errorf("%s on %s: %v", f.Name, flavor, err)
			}
		}
	}
	if _, err := FindFault("mising-index"); err == nil || !strings.Contains(err.Error(), `"missing-index"`) {
		t.Errorf("a slip of the finger: %v", err)
	}
	if f, err := FaultOn("missing-index", dbms.Postgres, "17.5"); err != nil || f.Expect(0).Table.Schema != "public" {
		t.Errorf("missing-index on PostgreSQL: %v, %+v", err, f.Expect(0))
	}
	if f, err := FaultOn("missing-index", dbms.Percona, "8.4.1"); err != nil || f.Expect(0).Table.Schema != "crm" {
		t.Errorf("missing-index on Percona Server: %v, %+v", err, f.Expect(0))
	}
	var no *fault.FlavorError
	if _, err := FaultOn("lock-pileup", dbms.Postgres, "17.5"); !errors.As(err, &no) ||
		!strings.Contains(err.Error(), "does not exist on postgres, only on mysql and mariadb: choose") {
		t.Errorf("lock-pileup on PostgreSQL: %v", err)
	}
}

// TestLoadsOfFaults: the load of a fault is that of the server's own family.
func TestLoadsOfFaults(t *testing.T) {
	w, err := Workload("missing-index")
	if err != nil {
		t.Fatal(err)
	}
	const auto = "AUTO_INCREMENT"
	own, err := w.Build(fault.Options(3))
	if err != nil || !strings.Contains(own.Tables[0].Create, auto) {
		t.Errorf("%v, %+v", err, own)
	}
	if w, _, err = (loader.Server{}).Fit(w, nil); err != nil {
		t.Fatal(err)
	}
	p, err := w.Build(fault.Options(3))
	if err != nil || strings.Contains(p.Tables[0].Create, auto) || p.Tables[0].Name != own.Tables[0].Name ||
		!slices.Equal(p.Operations, own.Operations) || p.Schema != "postgres" {
		t.Errorf("%v, %+v", err, p)
	}
	if w, err = Workload("lock-pileup"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (loader.Server{}).Fit(w, nil); err == nil || !strings.Contains(err.Error(), "lock-pileup") {
		t.Errorf("lock-pileup on PostgreSQL: %v", err)
	}
}
