package scrape

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/source"
)

// localShell is a shell of this machine, as one of another.
type localShell struct {
	io.WriteCloser
	io.Reader
	cmd *exec.Cmd
}

func (s *localShell) Close() error {
	s.WriteCloser.Close()
	return s.cmd.Wait()
}

func openShell(context.Context) (io.ReadWriteCloser, error) {
	s := &localShell{cmd: exec.Command("sh")}
	var err error
	if s.WriteCloser, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if s.Reader, err = s.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return s, s.cmd.Start()
}

// TestLookOfManyRounds: a server on another machine is found also where looking takes longer than a reading may.
func TestLookOfManyRounds(t *testing.T) {
	r := host.NewRemote(openShell)
	defer r.Close()
	looks, goOn := 0, make(chan struct{})
	p := &place{where: Where{Remote: r, There: func(ctx context.Context, _ host.FS) (int, error) {
		looks++
		select {
		case <-goOn:
			return os.Getpid(), nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}}}
	for i := range 3 {
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, _, err := p.process(ctx, int64(i), "the process")
		stop()
		var problem *Problem
		if !errors.As(err, &problem) || problem.State != source.Slow {
			t.Fatalf("round %d: %v", i, err)
		}
	}
	close(goOn)
	if _, pid, err := p.process(t.Context(), 4, "the process"); pid != os.Getpid() || err != nil || looks != 1 {
		t.Errorf("process %d, %v, after %d looks", pid, err, looks)
	}
}
