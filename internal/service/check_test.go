package service

import (
	"testing"
	"time"
)

// TestRightsPause: an account's privileges that change all the time begin sessions anew more and more seldom, and at
// once again after a calm.
func TestRightsPause(t *testing.T) {
	m, at := &member{}, time.Unix(1_800_000_000, 0)
	for range rightsOften {
		if d := m.rightsPause(at); d != 0 {
			t.Errorf("one of the first waits %v", d)
		}
		at = at.Add(rightsEvery)
	}
	begun := 0
	for end := at.Add(time.Hour); at.Before(end); begun++ {
		at = at.Add(m.rightsPause(at) + rightsEvery)
	}
	if begun > 20 {
		t.Errorf("%d sessions began in an hour of changes", begun)
	}
	if d := m.rightsPause(at.Add(rightsCalm + time.Second)); d != 0 {
		t.Errorf("after a calm a change waits %v", d)
	}
}
