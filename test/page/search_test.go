package page

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/store/history"
)

// TestSearchBeyondTheList keeps more classes than the page shows at first and searches for one that is not among them:
// it is found, and the page says among how many.
func TestSearchBeyondTheList(t *testing.T) {
	s := stage(t)
	home := folder(t)
	h, err := history.Open(t.Context(), filepath.Join(home, "store", "history.db"), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const n = 300
	end := time.Now().Truncate(time.Minute).Add(-time.Minute)
	all := make([]class.Class, n)
	for i := range all {
		fp := mytext.Fingerprint("SELECT a FROM " + letters(i) + " WHERE id = 1")
		all[i] = class.Class{
			ID: class.ID(fp), Fingerprint: fp, Schema: "shop", Count: uint64(i + 1),
			TimeSec: float64(i+1) / 1000,
		}
	}
	if err := h.PutClasses(t.Context(), "shop", end.Add(-time.Minute), end, all); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	try(t, home, "target", "add", "shop", s.Server.URL("root"))
	p := serve(t, home)
	p.waitUp(t, "shop")
	b := tab(t, p.URL)
	visit(b, fmt.Sprintf("/queries?target=shop&from=%d&to=%d", end.Unix()-60, end.Unix()))
	b.WaitText(".filters", "the top 200 of 300 classes by time")
	light := letters(42) // that of the least time but 42
	b.Key("/")
	b.Type(light)
	b.Until("the one class is found", func() error {
		if rows := b.Texts("main tbody tr"); len(rows) != 1 || !strings.Contains(rows[0], " "+light+" ") {
			return fmt.Errorf("rows are %.300q", rows)
		}
		return nil
	})
	b.WaitText(".filters", "1 of 300 classes")
	b.Axe("main")
	b.Key("Escape")
	b.WaitText(".filters", "the top 200 of 300 classes by time")
}

// TestFindingToClass follows the links of a finding and of where the time went: each opens the class that it names.
func TestFindingToClass(t *testing.T) {
	s := stage(t)
	f := s.diagnosed(t, "satchels", s.parcels(t, "satchels"))
	if len(f.Subject.Classes) == 0 {
		t.Fatalf("%+v is about no class", f)
	}
	b := s.Browser(t)
	refusals(b, "404", `class\?`) // its first minute may not be over yet
	for _, link := range []string{".class-course a", ".time-text a"} {
		visit(b, "/findings?target=shop&finding="+f.ID)
		b.Wait(link)
		b.Click(link)
		b.WaitURL("/queries")
		b.WaitURL("class=")
		b.Wait("All classes")
		if link == ".class-course a" && b.Param("class") != f.Subject.Classes[0] {
			t.Errorf("it opens class %s of a finding about %s", b.Param("class"), f.Subject.Classes)
		}
	}
}
