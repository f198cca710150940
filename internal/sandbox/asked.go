package sandbox

import (
	"context"
	"os"
	"sync"
)

// answers keeps what server programs said of themselves, by path: each is started once for all who ask, until its file is another one.
var answers = struct {
	mu sync.Mutex
	of map[string]*told
}{of: map[string]*told{}}

// told is what one program said. Whoever holds turn asks it.
type told struct {
	turn chan struct{}
	file os.FileInfo // that said it; nil while it did not
	s    Server
}

// askOnce is ask, which starts a program, for those who ask again and again or at the same time. Failures are not kept.
func askOnce(ctx context.Context, path string, origin Origin) (Server, error) {
	answers.mu.Lock()
	a := answers.of[path]
	if a == nil {
		a = &told{turn: make(chan struct{}, 1)}
		answers.of[path] = a
	}
	answers.mu.Unlock()
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return Server{}, ctx.Err()
	}
	st, err := os.Stat(path)
	if err != nil {
		return Server{}, err
	}
	if a.file == nil || !os.SameFile(a.file, st) || !a.file.ModTime().Equal(st.ModTime()) || a.file.Size() != st.Size() {
		s, err := ask(ctx, path, origin)
		if err != nil {
			return s, err
		}
		a.s, a.file = s, st
	}
	s := a.s
	s.Origin = origin
	return s, nil
}
