package load

import (
	"context"
	"errors"
	"testing"
	"time"
)

// within fails the test when f takes longer than d.
func within(t *testing.T, d time.Duration, what string, f func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), d, errors.New("test deadline"))
	defer cancel()
	begin := time.Now()
	f(ctx)
	if took := time.Since(begin); took > d {
		t.Fatalf("%s took %v, more than %v", what, took, d)
	}
}
