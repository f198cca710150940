package workload

import (
	"strings"
	"testing"
)

func TestNormal(t *testing.T) {
	f := func(o Option, in, want string) {
		t.Helper()
		got, err := o.normal(in)
		if want == "" {
			if err == nil {
				t.Errorf("%s=%s gives %s, want an error", o.Name, in, got)
			} else if !strings.Contains(err.Error(), o.Name) {
				t.Errorf("the error %q does not name the option", err)
			}
			return
		}
		if err != nil || got != want {
			t.Errorf("%s=%s gives %q, %v; want %s", o.Name, in, got, err, want)
		}
	}
	n := Option{Name: "rows", Type: Number, Max: 5_000_000_000}
	f(n, "0", "0")
	f(n, "007", "7")
	f(n, "2k", "2000")
	f(n, "3M", "3000000")
	f(n, "1G", "1000000000")
	f(n, "1T", "")
	f(n, "9999999T", "")
	f(n, "", "")
	f(n, "K", "")
	f(n, "-1", "")
	f(n, "+1", "")
	b := Option{Name: "flag", Type: Bool}
	f(b, "ON", "on")
	f(b, "", "on")
	f(b, "0", "off")
	f(b, "No", "off")
	f(b, "2", "")
	c := Option{Name: "choice", Type: Text, Choices: []string{"red", "green"}}
	f(c, "red", "red")
	f(c, "rad", "")
	f(Option{Name: "free", Type: Text}, "any thing", "any thing")
}

func TestSettleDoesNotTouchWhatWasGiven(t *testing.T) {
	given := map[string]string{"a": "1K"}
	v, err := Settle([]Option{{Name: "a", Type: Number}, {Name: "b", Type: Bool, Default: "off"}}, given)
	if err != nil || v.Int("a") != 1000 || v.Bool("b") || given["a"] != "1K" || len(given) != 1 {
		t.Errorf("%v from %v, %v", v, given, err)
	}
}
