package app

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

func TestAddTarget(t *testing.T) {
	a := alone(t)
	f := func(e ledger.Target, replace bool, want string) {
		t.Helper()
		got, err := Inventory{a}.AddTarget(t.Context(), e, replace)
		if want == "" {
			if err != nil {
				t.Errorf("%+v: %v", e, err)
			}
			return
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, %v, want %q", e, got, err, want)
		}
		if err != nil && strings.Contains(err.Error()+target.HintOf(err), "secret7") {
			t.Errorf("the password is told: %v", err)
		}
	}
	f(ledger.Target{Name: "shop", URL: "mysql://dyno@db1"}, false, "")
	f(ledger.Target{Name: "shop", URL: "mysql://dyno@db1:3306"}, false, "") // the same, written otherwise
	f(ledger.Target{Name: "shop", URL: "mysql://dyno@db2"}, false, "the inventory has a target of that name")
	f(ledger.Target{Name: "shop", URL: "mysql://dyno@db2"}, true, "")
	f(ledger.Target{Name: "p", URL: "mysql://dyno:secret7@db2"}, false, "the URL holds a password")
	f(ledger.Target{Name: "p", URL: "unix:///s?user=x&password=secret7"}, false, "the URL holds a password")
	f(ledger.Target{Name: "p", URL: "mysql://dyno@db2", Defaults: "/a", PasswordEnv: "B"}, false, "both given")
	f(ledger.Target{Name: "p", URL: "mysql://dyno@db2", PasswordEnv: "MY PASS"}, false,
		"not a name of an environment variable")
	f(ledger.Target{Name: "p", URL: "db2"}, false, "no scheme://")
	f(ledger.Target{Name: "p", URL: "sandbox:x"}, false, "a TARGET as it is")
	f(ledger.Target{Name: "p", URL: "mongodb://db2"}, false, "not yet supported")
	for _, name := range []string{
		"", "a b", "a:b", "a/b", "a\nb", "a\u202eb", "a\x00b", strings.Repeat("x", 101), "-a",
		"a;b", "$(a)", "a`b`", "a&b", "a|b", "a'b", "a*", "~a",
	} {
		f(ledger.Target{Name: name, URL: "mysql://db2"}, false, "target name")
	}
	l, err := a.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := l.Targets(t.Context())
	if err != nil || len(all) != 1 || all[0].URL != "mysql://dyno@db2:3306/" {
		t.Errorf("the inventory is %+v, %v", all, err)
	}
}

// TestAddTargetAtOnce: of several that take one name at the same time one gets it, and the others are told.
func TestAddTargetAtOnce(t *testing.T) {
	a := alone(t)
	const n = 8
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			_, errs[i] = Inventory{a}.AddTarget(t.Context(),
				ledger.Target{Name: "shop", URL: fmt.Sprintf("mysql://db%d", i)},
				false)
		})
	}
	wg.Wait()
	got := -1
	for i, err := range errs {
		switch {
		case err == nil && got < 0:
			got = i
		case !errors.Is(err, ErrTargetExists):
			t.Errorf("%d: %v, beside %d", i, err, got)
		}
	}
	l, err := a.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if x, err := l.Target(t.Context(), "shop"); err != nil || x.URL != fmt.Sprintf("mysql://db%d:3306/", got) {
		t.Errorf("the inventory has %+v, %v, not db%d", x, err, got)
	}
}
