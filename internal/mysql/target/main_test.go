package target

import (
	"context"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

const password = "hunter2-swordfish"

// open opens a target on a test server and closes it with the test.
func open(t *testing.T, s *servers.Server, user string) *Target {
	t.Helper()
	x, err := Open(t.Context(), spec(t, s.URL(user)))
	if err != nil {
		t.Fatalf("%s: %v (%s)", s.Flavor, err, HintOf(err))
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func spec(t *testing.T, url string) endpoint.Spec {
	t.Helper()
	s, err := endpoint.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !cond() {
		select {
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
