package panel

import "testing"

func TestExpr(t *testing.T) {
	f := func(w Way, want string) {
		t.Helper()
		if got := w.Expr("a\"b", "1m"); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	f(Sum(Gauge("x")), `sum(x{target="a\"b"})`)
	f(Sum(Rate("x", Is("l", "v"), Unlike("m", "n.*"))), `sum(rate(x{target="a\"b",l="v",m!~"n.*"}[1m]))`)
	f(Sum(Rate("x")).Over(Rate("y")), `sum(rate(x{target="a\"b"}[1m])) / sum(rate(y{target="a\"b"}[1m]))`)
	f(Sum(Gauge("x"), Less(Gauge("y"))).Over(Gauge("z")).Times(0.001),
		`((sum(x{target="a\"b"}) - sum(y{target="a\"b"})) / sum(z{target="a\"b"})) * 0.001`)
	f(Way{Terms: []Term{Gauge("x")}, Most: true, Zero: "z"}, `max(x{target="a\"b"}) or 0 * sum(z{target="a\"b"})`)
}
