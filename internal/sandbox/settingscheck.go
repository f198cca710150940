package sandbox

import (
	"context"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// checkTime bounds how long a server may take to tell its options.
const checkTime = 30 * time.Second

// CheckSettings asks a build whether it knows the settings and can read their values, as far as it tells without being
// started: it reads them and says whether it could. Its cause is ErrSettings; the hint names the nearest setting that
// there is. A build that does not answer is taken to know them: its start will tell. Whoever may read a recipe has this
// asked, so the answer is kept.
func (y *Yard) CheckSettings(ctx context.Context, s Server, in map[string]string) error {
	const op = "check settings of"
	f := s.Maker
	set, err := readSettings(f, in)
	if err != nil {
		return wrap(op, s.Spec(), err)
	}
	if len(set.values) == 0 {
		return nil
	}
	opts := set.options()
	_, err = askOnce(ctx, s.Path, strings.Join(opts, "\n"), func() (struct{}, error) {
		return struct{}{}, wrap(op, s.Spec(), f.CheckSettings(ctx, runFor(checkTime), s, opts))
	})
	return err
}

// runFor runs programs as the servers' account for so long each.
func runFor(most time.Duration) maker.Runner {
	return func(ctx context.Context, argv ...string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		a, err := serverAccount()
		if err != nil {
			return "", err
		}
		return a.run(ctx, argv, "/", "/", nil)
	}
}
