package family

// Rememberer is a family that reads less of a server when it has looked at it before.
type Rememberer interface {
	// NewMemories returns empty ones, for one process.
	NewMemories() Memories
}

// Memories are what a family keeps of several targets from one look to the next. All together are bounded. They are
// safe for concurrent use.
type Memories interface {
	// Of returns what is kept of a target, for Look.Memory.
	Of(target string) any
	// Keep forgets the targets that are not named.
	Keep(targets []string)
}
