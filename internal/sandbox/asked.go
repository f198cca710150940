package sandbox

import (
	"context"
	"os"
	"sync"
	"time"
)

// Bounds of what is kept of a program's answers.
const (
	failureLasts = time.Minute // libraries may be installed meanwhile
	mostAnswers  = 256         // to different questions
)

// answers keeps what server programs said, by path: each is started once for all who ask the same, until its file is
// another one.
var answers = struct {
	mu sync.Mutex
	of map[string]*told
}{of: map[string]*told{}}

// told is what one program said. Whoever holds turn asks it.
type told struct {
	turn chan struct{}
	file os.FileInfo // that said it
	said map[string]answer
}

type answer struct {
	value any
	err   error
	at    time.Time
}

// askOnce returns what ask, which starts the program at path, answers to a question, for those who ask again and again
// or at the same time.
func askOnce[T any](ctx context.Context, path, question string, ask func() (T, error)) (x T, err error) {
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
		return x, ctx.Err()
	}
	st, err := os.Stat(path)
	if err != nil {
		return x, err
	}
	if a.file == nil || !os.SameFile(a.file, st) || !a.file.ModTime().Equal(st.ModTime()) ||
		a.file.Size() != st.Size() || len(a.said) >= mostAnswers {
		a.file, a.said = st, map[string]answer{}
	}
	kept, ok := a.said[question]
	if !ok || kept.err != nil && time.Since(kept.at) > failureLasts {
		x, err := ask()
		if ctx.Err() != nil {
			return x, err
		}
		kept = answer{x, err, time.Now()}
		a.said[question] = kept
	}
	x, _ = kept.value.(T)
	return x, kept.err
}
