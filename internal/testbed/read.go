package testbed

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/mysql/arith"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
)

// readAll asks for the plan's own values.
func readAll(ctx context.Context, cpus *cpus, t *target.Target, j *job, tr *trial.Trial) error {
	if len(j.config.Read) == 0 {
		return nil
	}
	c, err := t.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := use(ctx, t, c, j.schema); err != nil {
		return unusable(ctx, err)
	}
	for _, name := range slices.Sorted(maps.Keys(j.config.Read)) {
		q := j.config.Read[name]
		var v sql.NullString
		if err := c.QueryRowContext(ctx, q).Scan(&v); err != nil {
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
	switch what {
	case "buffer_pool_size", "buffer_pool_instances", "buffer_pool_chunk_size":
		ask, err := ask(cpus, j)
		if err != nil {
			return fmt.Errorf("predict %s: %w", name, err)
		}
		pool, err := arith.BufferPool(j.server.Flavor, j.server.Version, ask)
		if err != nil {
			return fmt.Errorf("predict %s: %w", name, err)
		}
		if to, ok := j.config.Set["innodb_buffer_pool_size"]; ok { // changed while it runs
			n, err := unit.ParseSize(to)
			if err != nil {
				return fmt.Errorf("predict %s: innodb_buffer_pool_size: %w", name, err)
			}
			if pool, err = arith.Resize(j.server.Flavor, j.server.Version, pool, n); err != nil {
				return fmt.Errorf("predict %s: %w", name, err)
			}
		}
		want := map[string]uint64{
			"buffer_pool_size": pool.Size, "buffer_pool_instances": uint64(pool.Instances),
			"buffer_pool_chunk_size": pool.Chunk,
		}[what]
		if len(pool.Rules) > 0 {
			tr.Texts[name+"_why"] = strings.Join(pool.Rules, "; ")
		}
		tr.Values[name+"_predicted"] = float64(want)
		switch got, ok := tr.Values[name]; {
		case !ok:
			tr.Texts[name+"_check"] = "not observable"
		case got == float64(want):
			tr.Texts[name+"_check"] = "as predicted"
		default:
			tr.Texts[name+"_check"] = "not as predicted"
		}
		return nil
	}
	return fmt.Errorf("predict %s: no arithmetic is called %q", name, what)
}

// ask returns the buffer pool that the job's settings ask for at the start.
func ask(cpus *cpus, j *job) (a arith.Ask, err error) {
	layer := func(given map[string]string) error {
		m := map[string]string{}
		for k, v := range given {
			m[strings.TrimPrefix(k, "loose_")] = v
		}
		for name, into := range map[string]*uint64{
			"innodb_buffer_pool_size":       &a.Size,
			"innodb_buffer_pool_chunk_size": &a.Chunk,
		} {
			if v, ok := m[name]; ok {
				if *into, err = unit.ParseSize(v); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
		if v, ok := m["innodb_buffer_pool_instances"]; ok {
			if a.Instances, err = strconv.Atoi(v); err != nil {
				return fmt.Errorf("innodb_buffer_pool_instances: %w", err)
			}
		}
		return nil
	}
	if err := layer(j.config.Settings); err != nil {
		return a, err
	}
	a.CPUs = len(cpus.before)
	if list, err := host.ParseCPUs(cpus.server); err == nil && len(list) > 0 {
		a.CPUs = len(list)
	}
	return a, nil
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
