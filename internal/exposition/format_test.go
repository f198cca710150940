package exposition

import "testing"

func TestNegotiate(t *testing.T) {
	f := func(accept string, want Format) {
		t.Helper()
		if got := Negotiate(accept); got != want {
			t.Errorf("%q: %s, want %s", accept, got.ContentType(), want.ContentType())
		}
	}
	f("", Text)
	f("*/*", Text)
	f("text/html,application/xhtml+xml,*/*;q=0.8", Text)
	f("text/plain;version=0.0.4", Text)
	f("application/openmetrics-text", OpenMetrics)
	f("application/openmetrics-text; version=2.0.0", Text)
	f("application/openmetrics-text;q=0", Text)
	f("application/openmetrics-text;version=1.0.0;q=0.2, text/plain;version=0.0.4;q=0.5", Text)
	// as Prometheus 3.5 asks
	f(
		"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;"+
			"version=0.0.1;q=0.5,"+
			"text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2", OpenMetrics)
}
