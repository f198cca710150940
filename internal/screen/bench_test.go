package screen

import (
	"testing"

	"dyno/internal/state"
)

// BenchmarkSecond is what the screen does each second: take in a state of 200 sessions and draw it.
func BenchmarkSecond(b *testing.B) {
	m := screenOf(b, 100, 40, pileUp(noon))
	s := pileUp(noon)
	for i := range 200 {
		x := s.Sessions[i%5]
		x.ID = uint64(1000 + i)
		s.Sessions = append(s.Sessions, x)
	}
	m.colour = true
	m.theme = newTheme(true, true)
	b.ReportAllocs()
	for b.Loop() {
		s := *s
		m.newest, m.shown = &state.State{}, &s
		m.settle()
		m.View()
	}
}
