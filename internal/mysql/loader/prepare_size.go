package loader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/unit"
	"github.com/dyno-perf/dyno/internal/workload"
)

// scales are the options of workloads that make their tables larger, nearly in proportion.
var scales = []string{"table-size", "scale", "warehouses"}

var times = lazyregexp.New(`^(?i)([0-9]+(?:\.[0-9]+)?)\s*x\s*(ram|pool)$`)

// Sized returns d with the option of its workload that decides the size of the tables set so that they take about size:
// "10G", or a multiple of the memory that the server may use, "2xRAM", or of its buffer pool, "0.5xpool". note tells in
// one sentence what was chosen. Bytes are estimated from a sample of the rows and do not count what is left free on
// pages split later.
func (s Server) Sized(ctx context.Context, d load.Data, size string) (sized load.Data, note string, err error) {
	if d.Workload == nil {
		return d, "", errors.New("size: no workload given")
	}
	want, err := bytesOf(ctx, s.T, size)
	if err != nil {
		return d, "", err
	}
	option := ""
	for _, name := range scales {
		for _, o := range d.Workload.Options() {
			if o.Name == name && option == "" {
				option = name
			}
		}
	}
	if option == "" {
		return d, "", fmt.Errorf("size %s: the tables of %s have no option that makes them larger",
			size, d.Workload.Name())
	}
	for _, name := range scales {
		if given, ok := d.Options[name]; ok {
			return d, "", fmt.Errorf("size %s and %s=%s both say how large the tables are: use one of them", size, name,
				given)
		}
	}
	build := func(n int) (*workload.Plan, map[string]string, error) {
		o := maps.Clone(d.Options)
		if o == nil {
			o = map[string]string{}
		}
		o[option] = strconv.Itoa(n)
		o = workload.WithThreads(d.Workload, o, d.Threads)
		plan, err := d.Workload.Build(o)
		return plan, o, err
	}
	// Bytes grow along a straight line: two points give it.
	least, much := 1, 2
	if option == "table-size" {
		least, much = 10_000, 20_000
	}
	var at [2]float64
	for i, n := range []int{least, much} {
		plan, _, err := build(n)
		if err != nil {
			return d, "", err
		}
		at[i] = planBytes(plan, max(1, d.Seed))
	}
	slope := (at[1] - at[0]) / float64(much-least)
	if slope <= 0 {
		return d, "", fmt.Errorf("size %s: %s does not make the tables of %s larger", size, option, d.Workload.Name())
	}
	n := int(math.Max(1, math.Round((want-at[0])/slope+float64(least))))
	plan, options, err := build(n)
	if err != nil {
		return d, "", fmt.Errorf("size %s: %w", size, err)
	}
	d.Options = options
	return d, fmt.Sprintf("%s=%d makes tables of about %s with their indexes.", option, n,
		unit.Bytes(planBytes(plan, max(1, d.Seed)))), nil
}

func bytesOf(ctx context.Context, t *target.Target, size string) (float64, error) {
	m := times.FindStringSubmatch(strings.TrimSpace(size))
	if m == nil {
		n, err := unit.ParseSize(size)
		if err != nil {
			return 0, fmt.Errorf("size %s: it takes bytes such as 10G, or a multiple such as 2xRAM or 0.5xpool: %w",
				size, err)
		}
		if n == 0 {
			return 0, errors.New("size 0: it takes at least a byte")
		}
		return float64(n), nil
	}
	factor, err := strconv.ParseFloat(m[1], 64)
	if err != nil || factor <= 0 {
		return 0, fmt.Errorf("size %s: the multiple is not above 0", size)
	}
	if strings.EqualFold(m[2], "pool") {
		v, _ := t.Variable("innodb_buffer_pool_size")
		n, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return 0, fmt.Errorf("size %s: the server does not report the size of its buffer pool; give bytes, such "+
				"as 10G", size)
		}
		return factor * n, nil
	}
	pid, ok := t.LocalPID(ctx)
	if !ok {
		return 0, fmt.Errorf("size %s: the server may be on another machine, and servers do not report their memory; "+
			"give bytes or a multiple of the buffer pool, such as 10G or 2xpool", size)
	}
	facts, err := host.FactsOf(pid)
	if err != nil {
		return 0, fmt.Errorf("size %s: %w", size, err)
	}
	n, ok := facts.MemBytes.Get()
	if !ok {
		return 0, fmt.Errorf("size %s: this machine does not report its memory; give bytes, such as 10G", size)
	}
	return factor * float64(n), nil
}

// pageFill is what rows in the order of their key leave used of a page: InnoDB keeps a sixteenth free, and headers and
// directory take a little more.
const pageFill = 15.0 / 16 * 0.97

// planBytes estimates the bytes of all tables with their indexes.
func planBytes(plan *workload.Plan, seed uint64) (sum float64) {
	for i := range plan.Tables {
		tb := &plan.Tables[i]
		s := look(tb, seed, len(plan.Tables))
		rows := float64(tb.Rows) * s.Rows
		sum += rows * s.bytes / pageFill
		for _, q := range tb.After {
			if strings.HasPrefix(strings.ToUpper(q), "CREATE ") {
				sum += rows * indexRow / pageFill
			}
		}
	}
	return sum
}

// indexRow is a guess at the bytes of a row in a secondary index: header, a short key, the primary key.
const indexRow = 5 + 4 + 6
