package httpapi

import (
	"testing"
	"time"
)

// TestThePageIsToldThePace: the page knows by it which readings are late.
func TestThePageIsToldThePace(t *testing.T) {
	f := func(every time.Duration, want float64) {
		t.Helper()
		var me who
		unmarshal(t, request(New(bare(), Options{Every: every}), "GET", "/api/dyno/v1/session", "").Body.Bytes(),
			&me)
		if me.Every != want {
			t.Errorf("every %v it says %v seconds", every, me.Every)
		}
	}
	f(30*time.Second, 30)
	f(1500*time.Millisecond, 1.5)
	f(0, 0)
}
