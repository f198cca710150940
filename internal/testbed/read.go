package testbed

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/trial"
)

// readAll asks for the plan's own values.
func readAll(ctx context.Context, cpus *cpus, t family.TrialServer, j *job, tr *trial.Trial) error {
	if len(j.config.Read) == 0 {
		return nil
	}
	c, err := t.Session(ctx, j.schema, false)
	if err != nil {
		return unusable(ctx, err)
	}
	defer c.Close()
	for _, name := range slices.Sorted(maps.Keys(j.config.Read)) {
		q := j.config.Read[name]
		v, err := c.Value(ctx, q)
		if err != nil {
			return unusable(ctx, fmt.Errorf("read %s: %s: %w", name, brief(q), t.Wrap("read", err)))
		}
		if !v.Valid {
			continue // unknown
		}
		if x, err := strconv.ParseFloat(v.String, 64); err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
			tr.Values[name] = x
		} else {
			tr.Texts[name] = v.String
		}
		if p, ok := j.config.Predict[name]; ok {
			if err := predict(cpus, p, name, j, tr); err != nil {
				return unusable(ctx, err)
			}
		}
	}
	return nil
}

// predict puts beside a value what arithmetic says it should be.
func predict(cpus *cpus, what, name string, j *job, tr *trial.Trial) error {
	p := family.Prediction{
		Flavor: j.server.Flavor, Version: j.server.Version, Settings: j.config.Settings, Set: j.config.Set,
		CPUs: len(cpus.before),
	}
	if list, err := host.ParseCPUs(cpus.server); err == nil && len(list) > 0 {
		p.CPUs = len(list)
	}
	want, rules, err := j.servers.Predict(what, p)
	if err != nil {
		return fmt.Errorf("predict %s: %w", name, err)
	}
	if len(rules) > 0 {
		tr.Texts[name+"_why"] = strings.Join(rules, "; ")
	}
	tr.Values[name+"_predicted"] = want
	switch got, ok := tr.Values[name]; {
	case !ok:
		tr.Texts[name+"_check"] = "not observable"
	case got == want:
		tr.Texts[name+"_check"] = "as predicted"
	default:
		tr.Texts[name+"_check"] = "not as predicted"
	}
	return nil
}

// dataBytes returns what a data directory takes on disk.
func dataBytes(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // a server removes files meanwhile
		}
		if fi, err := d.Info(); err == nil {
			if f, ok := platform.FileOf(fi); ok && d.Type().IsRegular() {
				n += f.Bytes
			}
		}
		return nil
	})
	return n, err
}
