package page

import (
	"strings"
	"testing"
)

// TestMissingGrants watches with an account that may do nothing: every page of the server says what stays unseen, with
// the GRANT that changes it, until it is granted.
func TestMissingGrants(t *testing.T) {
	s := stage(t)
	s.Exec("CREATE USER blind@localhost")
	t.Cleanup(func() { s.Exec("DROP USER blind@localhost") })
	p := serve(t, folder(t))
	try(t, p.home, "target", "add", "blind", s.Server.URL("blind"))
	p.waitUp(t, "blind")
	b := tab(t, p.URL)
	const line = ".denied"
	for _, page := range []string{"/activity", "/queries", "/findings", "/overview"} {
		visit(b, page+"?target=blind")
		b.WaitText(line, "The account of blind may not see:")
		b.WaitText(line, "GRANT PROCESS")
		b.WaitText(line, "processlist")
		var first bool
		b.Eval(`document.querySelector('main').firstElementChild.matches(':has(.denied)')`, &first)
		if !first {
			t.Errorf("%s: it is not the first line", page)
		}
	}
	visit(b, "/")
	b.WaitText("main", "limited access")
	visit(b, "/activity?target=blind")
	b.WaitText(line, "GRANT PROCESS")
	if tabs := strings.Join(b.Texts("main [role=tab], main .tab"), " "); strings.ContainsAny(tabs, "0123456789") {
		t.Errorf("what is not observable is counted: %q", tabs)
	}
	inBoth(b, "denied")
	b.Phone()
	b.Settle()
	b.ShotAll("denied-390")
	var height float64
	b.Eval(`document.querySelector('.denied').getBoundingClientRect().height`, &height)
	if height <= 0 || height > 120 {
		t.Errorf("what is not allowed takes %v px of a phone's screen", height)
	}
	if n := b.Sideways(); n != 0 {
		t.Errorf("it scrolls sideways by %d", n)
	}
	b.Laptop()
	// What the page says is what helps: first what hides the schemas, then the schemas.
	obey := func() {
		for _, grant := range strings.Split(b.Text(line+" code"), ";") {
			if grant = strings.TrimSpace(grant); strings.HasPrefix(grant, "GRANT ") {
				if _, err := s.DB.ExecContext(t.Context(), grant); err != nil {
					t.Fatalf("%s: %v", grant, err)
				}
			}
		}
	}
	obey()
	b.WaitText(line, "the account sees no table of shop")
	obey()
	b.WaitGone(line)
	var targets struct{ Targets []struct{ Denied any } }
	if err := getJSON(p.URL, "targets", &targets); err != nil || len(targets.Targets) != 1 ||
		targets.Targets[0].Denied != nil {
		t.Errorf("%v, %+v", err, targets)
	}
}
