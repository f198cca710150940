package sandbox

import (
	"context"
	"testing"
	"time"

	"dyno/internal/progress"
)

func TestInstall(t *testing.T) {
	y := yard(t)
	y.ServerDirs = nil
	t0, last := time.Now(), ""
	s, err := y.Install(context.Background(), "mysql@9.7", func(p progress.Progress) {
		if p.Step != last {
			last = p.Step
			t.Log(time.Since(t0), p)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v %+v", time.Since(t0), s)
	if _, err := y.Up(context.Background(), Config{Name: "m", Server: "mysql@9.7"}, nil); err != nil {
		t.Fatal(err)
	}
}
