package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/suggest"
)

// checkTime bounds how long a server may take to tell its options.
const checkTime = 30 * time.Second

// CheckSettings asks a build whether it knows the settings and can read their values, as far as it tells without being
// started: it reads them and says whether it could. Its cause is ErrSettings; the hint names the nearest setting that
// there is. A build that does not answer is taken to know them: its start will tell. Whoever may read a recipe has this
// asked, so the answer is kept.
func (y *Yard) CheckSettings(ctx context.Context, s Server, in map[string]string) error {
	const op = "check settings of"
	f := s.family()
	set, err := readSettings(f, in)
	if err != nil {
		return wrap(op, s.Spec(), err)
	}
	if len(set.values) == 0 {
		return nil
	}
	opts := set.options()
	_, err = askOnce(ctx, s.Path, strings.Join(opts, "\n"), func() (struct{}, error) {
		return struct{}{}, wrap(op, s.Spec(), f.checkSettings(ctx, s, opts))
	})
	return err
}

func (mysqlFamily) checkSettings(ctx context.Context, s Server, opts []string) error {
	out, err := s.ask(ctx, opts, true)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	m := unknownSetting.FindStringSubmatch(out)
	if m == nil {
		if said := complaint(out); said != "" && strings.Contains(out, "[ERROR]") {
			return fmt.Errorf("%w: %s", ErrSettings, said)
		}
		return nil
	}
	name, _, _ := strings.Cut(strings.TrimLeft(m[1], "-"), "=")
	name = strings.ReplaceAll(name, "-", "_")
	e := fmt.Errorf("%w: %s knows no setting %q", ErrSettings, s.Spec(), name)
	if near := nearestSetting(ctx, s, name); near != "" {
		return hint(e, fmt.Sprintf("did you mean %s?", near))
	}
	return hint(e, "leave it out, or write loose_"+name+" for servers that know it alone")
}

var unknownSetting = lazyregexp.New(`unknown (?:variable|option) '([^']*)'`)

// ask runs the server program with options and has it print its help, or check the options where it can, and returns
// what it said. MySQL's help passes over what it does not know; since 8.0.16 it has --validate-config (MySQL manual,
// Server Configuration Validation).
func (s Server) ask(ctx context.Context, opts []string, check bool) (string, error) {
	how := []string{"--verbose", "--help"}
	if check && !s.Flavor.IsMariaDB() && !older(s.Version, "8.0.16") {
		how = []string{"--secure-file-priv=", "--validate-config"}
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	a, err := serverAccount()
	if err != nil {
		return "", err
	}
	out, err := a.run(ctx, s.command(slices.Concat(opts, []string{"--datadir=/nonexistent"}, how)...), "/", "/", nil)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", nil
	}
	return out, err
}

var listedSetting = lazyregexp.New(`(?m)^  --([a-z][a-z0-9_-]+)`)

// nearestSetting returns the setting of the build whose name is most like name, "" when none is.
func nearestSetting(ctx context.Context, s Server, name string) string {
	out, err := s.ask(ctx, nil, false)
	if err != nil {
		return ""
	}
	var names []string
	for _, m := range listedSetting.FindAllStringSubmatch(out, -1) {
		names = append(names, strings.ReplaceAll(m[1], "-", "_"))
	}
	return suggest.Name(name, names, len(name)/3+1)
}
