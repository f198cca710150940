package main

import (
	"fmt"
	"os"
	"time"
)

// status is one moving line on a terminal, and nothing elsewhere.
type status struct {
	f     *os.File
	shown time.Time
}

func newStatus(f *os.File) *status {
	if i, err := f.Stat(); err != nil || i.Mode()&os.ModeCharDevice == 0 {
		f = nil
	}
	return &status{f: f}
}

func (s *status) set(text string) {
	if s.f != nil && time.Since(s.shown) > 200*time.Millisecond {
		s.shown = time.Now()
		fmt.Fprintf(s.f, "\r     %.100s\033[K", text)
	}
}

func (s *status) clear() {
	if s.f != nil {
		fmt.Fprint(s.f, "\r\033[K")
	}
}

// during shows text anew each second until f ends.
func (s *status) during(text func() string, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	defer s.clear()
	for t := time.NewTicker(time.Second); ; {
		select {
		case err := <-done:
			t.Stop()
			return err
		case <-t.C:
			s.set(text())
		}
	}
}
