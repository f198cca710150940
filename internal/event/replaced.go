package event

import (
	"strings"
	"time"
)

const (
	// AnotherServer begins the text of a Restart after which another server answers under the name of the target.
	AnotherServer = "another server"
	// ReplacedLate is how much later than the change itself such an event may be: a server is known by its settings,
	// which are read every 10 s.
	ReplacedLate = 15 * time.Second
)

// Replaces reports whether another server answers from an event on, or from up to ReplacedLate before it on.
func (e Event) Replaces() bool { return e.Kind == Restart && strings.HasPrefix(e.Text, AnotherServer) }
