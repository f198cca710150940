package advise

import (
	"slices"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
)

func TestSettle(t *testing.T) {
	x := func(id string, severity finding.Severity, share float64, explains, rests []string) finding.Finding {
		return finding.Finding{
			ID: id, Title: "title of " + id, Severity: severity, Share: share,
			Explains: explains, Rests: rests,
		}
	}
	e := func(effects ...string) []string { return effects }
	f := func(name string, given map[Kind][]finding.Finding, want ...string) {
		t.Helper()
		var got []string
		for _, f := range Settle(given) {
			id := f.ID
			for _, m := range f.Merged {
				id += "<" + m
			}
			got = append(got, id)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	index := x("index", finding.Warning, 0.5, e(EffectPoolMisses, EffectDiskReads), nil)
	pool := x("pool", finding.Warning, 0.9, e(EffectDiskReads), e(EffectPoolMisses))
	disk := x("disk", finding.Critical, 0.9, nil, e(EffectDiskReads))
	f("nothing", nil)
	f("the worst first, then the larger share",
		map[Kind][]finding.Finding{Config: {x("a", finding.Notice, 0.9, nil, nil), x("b", finding.Warning, 0.1, nil,
			nil)}, Index: {x("c", finding.Warning, 0.2, nil, nil)}}, "c", "b", "a")
	f("a chain is told with its first cause", map[Kind][]finding.Finding{Index: {index}, Config: {pool}, Host: {disk}},
		"index<title of pool<title of disk")
	f("without the cause each stands for itself or its nearest", map[Kind][]finding.Finding{
		Config: {pool},
		Host:   {disk},
	}, "pool<title of disk")
	f("a consequence of a later kind explains nothing", map[Kind][]finding.Finding{
		Config: {disk},
		Host:   {x("host", finding.Warning, 1, e(EffectDiskReads), nil)},
	}, "disk", "host")
	f("all that it rests upon must be explained", map[Kind][]finding.Finding{
		Index:  {index},
		Config: {x("both", finding.Notice, 0, nil, e(EffectPoolMisses, EffectFsyncs))},
	}, "index", "both")
	f("what rests upon nothing is never folded", map[Kind][]finding.Finding{
		Index:  {index},
		Config: {x("own", finding.Notice, 0, nil, nil)},
	}, "index", "own")
	f("facts stay apart", map[Kind][]finding.Finding{
		Index:  {index},
		Config: {x("fact", finding.Fact, 0, nil, e(EffectPoolMisses))},
	}, "index", "fact")
	f("of two of one id the first stays", map[Kind][]finding.Finding{
		Index:  {index},
		Schema: {x("index", finding.Critical, 1, nil, nil)},
	}, "index")
	f("within a kind the larger share explains",
		map[Kind][]finding.Finding{Config: {
			x("small", finding.Warning, 0.1, e(EffectCPU), nil),
			x("rest", finding.Warning, 0.05, nil, e(EffectCPU)),
		}}, "small<title of rest")
	f("and not the smaller", map[Kind][]finding.Finding{Config: {
		x("small", finding.Warning, 0.1, e(EffectCPU), nil),
		x("large", finding.Warning, 0.5, nil, e(EffectCPU)),
	}}, "large", "small")
}
