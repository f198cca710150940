package judge_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/fault"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/test/judged"
)

// spoilt are ways in which a snapshot of a real server may be poorer or odder than judgement would like.
func spoilt() map[string]func(*snapshot.Snapshot) {
	lose := func(s *snapshot.Snapshot, state source.State, names ...source.Name) {
		for i, x := range s.Sources {
			if slices.Contains(names, x.Name) {
				s.Sources[i] = source.Source{
					Name: x.Name, State: state, Reason: "a privilege is missing",
					Fix: "GRANT …",
				}
			}
		}
	}
	series := func(s *snapshot.Snapshot, gone func(name string) bool) {
		s.Series = slices.DeleteFunc(s.Series, func(x metric.Series) bool { return gone(x.Name) })
	}
	points := func(s *snapshot.Snapshot, change func(x metric.Series, i int, v float64) float64) {
		for k, x := range s.Series {
			ps := slices.Clone(x.Points)
			for i := range ps {
				ps[i].Value = change(x, i, ps[i].Value)
			}
			s.Series[k].Points = ps
		}
	}
	return map[string]func(*snapshot.Snapshot){
		"without performance_schema": func(s *snapshot.Snapshot) {
			s.Classes = slices.DeleteFunc(s.Classes, func(c class.Class) bool {
				return c.Origin == class.PerformanceSchema
			})
			s.Programs = nil
			series(s, func(n string) bool { return strings.Contains(n, "perf_schema") })
			lose(s, source.Missing, "digests", "waits", "file_io", "table_io", "memory", "programs")
		},
		"without any class": func(s *snapshot.Snapshot) {
			s.Classes = nil
			lose(s, source.Denied, "digests",
				"statement_samples")
		},
		"without plans": func(s *snapshot.Snapshot) { s.Plans = nil },
		"without moments": func(s *snapshot.Snapshot) {
			s.Moments = nil
			lose(s, source.Denied, "processlist", "locks", "transactions")
		},
		"without the host": func(s *snapshot.Snapshot) {
			s.Host = snapshot.Host{}
			series(s, func(n string) bool {
				return strings.HasPrefix(n, "node_") ||
					strings.HasPrefix(n, "dyno_server_")
			})
			lose(s, source.Missing, "host", "process")
		},
		"without variables": func(s *snapshot.Snapshot) { s.Variables = nil },
		"without status": func(s *snapshot.Snapshot) {
			series(s, func(n string) bool { return strings.HasPrefix(n, "mysql_global_status_") })
			lose(s, source.Failed, "global_status")
		},
		"without metrics": func(s *snapshot.Snapshot) {
			series(s, func(n string) bool { return strings.HasPrefix(n, "mysql_info_schema_innodb_metrics_") })
			lose(s, source.Denied, "innodb_metrics")
		},
		"without any series": func(s *snapshot.Snapshot) { s.Series = nil },
		"without grants": func(s *snapshot.Snapshot) {
			s.Classes, s.Plans, s.Moments, s.Programs, s.Accounts, s.Tables = nil, nil, nil, nil, nil, nil
			for i := range s.Sources {
				if s.Sources[i].Name != "global_status" {
					s.Sources[i].State, s.Sources[i].Reason = source.Denied, "a privilege is missing"
				}
			}
			series(s, func(n string) bool { return !strings.HasPrefix(n, "mysql_global_status_") })
		},
		"plans that fail": func(s *snapshot.Snapshot) {
			for i, p := range s.Plans {
				s.Plans[i] = explain.Plan{Class: p.Class, Error: "Error 1345: EXPLAIN/SHOW can not be issued"}
			}
		},
		"views only": func(s *snapshot.Snapshot) {
			for i := range s.Tables {
				s.Tables[i].View, s.Tables[i].Indexes, s.Tables[i].Engine = true, nil, ""
			}
		},
		"no traffic": func(s *snapshot.Snapshot) {
			s.Classes, s.Plans, s.Programs = nil, nil, nil
			points(s, func(x metric.Series, _ int, _ float64) float64 { return x.Points[0].Value })
			for i := range s.Moments {
				s.Moments[i].Sessions, s.Moments[i].Waits, s.Moments[i].Transactions = nil, nil, nil
			}
		},
		"huge and negative gauges": func(s *snapshot.Snapshot) {
			points(s, func(x metric.Series, i int, v float64) float64 {
				if x.Kind == metric.Counter {
					return v
				}
				return []float64{1e300, -1, v}[i%3]
			})
		},
		"garbage in variables": func(s *snapshot.Snapshot) {
			for k := range s.Variables {
				s.Variables[k] = "banana"
			}
			s.Variables["innodb_time_travel"] = "ON"
		},
		"long lists": func(s *snapshot.Snapshot) {
			var list strings.Builder
			for i := range 10_000 {
				list.WriteString(strconv.Itoa(i) + ", ")
			}
			s.Classes = append(s.Classes, class.Class{
				ID: "LONG", Fingerprint: "select a from t where b in(?+)", Schema: "x", Origin: class.PerformanceSchema,
				Count: 1, TimeSec: 1e-3,
				Example: "SELECT a FROM t WHERE b IN (" + list.String() + "0)",
			})
		},
		"half of an InnoDB status": func(s *snapshot.Snapshot) {
			for i := range s.Moments {
				s.Moments[i].EngineStatus = s.Moments[i].EngineStatus[:len(s.Moments[i].EngineStatus)/2]
			}
		},
		"waits in a circle": func(s *snapshot.Snapshot) {
			for i := range s.Moments {
				if n := len(s.Moments[i].Sessions); n > 1 {
					a, b := s.Moments[i].Sessions[0].ID, s.Moments[i].Sessions[1].ID
					s.Moments[i].Waits = append(s.Moments[i].Waits, state.Wait{
						Kind: state.RowLock, Waiter: a,
						Blocker: known.Of(b),
					}, state.Wait{Kind: state.RowLock, Waiter: b, Blocker: known.Of(a)})
				}
			}
		},
	}
}

// odd are changes that take nothing away that a rule could miss, but may mislead it. They must not make a finding wrong
// that was right.
func odd() map[string]func(*snapshot.Snapshot) {
	return map[string]func(*snapshot.Snapshot){
		"counters that wrapped": func(s *snapshot.Snapshot) {
			for k, x := range s.Series {
				if n := len(x.Points); x.Kind == metric.Counter && n > 2 {
					ps := slices.Clone(x.Points)
					at := ps[n/2].Value
					for i := n / 2; i < n; i++ {
						ps[i].Value -= at
					}
					s.Series[k].Points = ps
				}
			}
		},
		"a young server":    func(s *snapshot.Snapshot) { s.Target.UptimeSec = 5 },
		"a replica":         func(s *snapshot.Snapshot) { s.Target.Replica = true },
		"read-only":         func(s *snapshot.Snapshot) { s.Target.ReadOnly = true },
		"a future version":  func(s *snapshot.Snapshot) { s.Target.Version = "99.1.0" },
		"no version at all": func(s *snapshot.Snapshot) { s.Target.Version = "" },
		"absurd statistics": func(s *snapshot.Snapshot) {
			for i := range s.Tables {
				t := &s.Tables[i]
				t.Rows, t.DataBytes, t.IndexBytes, t.FreeBytes = known.Of(uint64(1)<<62), known.Of(uint64(0)),
					known.Of(uint64(1)<<62), known.None[uint64]()
				for k := range t.Indexes {
					for n := range t.Indexes[k].Parts {
						t.Indexes[k].Parts[n].Cardinality = known.Of(uint64(n % 2 << 60))
					}
				}
			}
		},
		"tables without statistics": func(s *snapshot.Snapshot) {
			for i := range s.Tables {
				t := &s.Tables[i]
				t.Rows, t.DataBytes, t.IndexBytes, t.FreeBytes = known.None[uint64](), known.None[uint64](),
					known.None[uint64](), known.None[uint64]()
			}
		},
		"partitions": func(s *snapshot.Snapshot) {
			for i := range s.Tables {
				s.Tables[i].Partitions = 64
			}
		},
	}
}

// tenth is the part of the ways that each snapshot is spoilt in; it must have no divisor in common with the number of
// ways.
const tenth = 7

// TestSpoiltSnapshots judges every snapshot of the corpus with something taken away or twisted: there may be fewer
// findings then, never one about what is not there, and no panic.
//
// Each snapshot is spoilt in a few ways, all ways being tried on many snapshots; DYNO_TEST_WHOLE=1 tries all on each.
func TestSpoiltSnapshots(t *testing.T) {
	all := spoilt()
	for name, f := range odd() {
		all[name] = f
	}
	ways := slices.Sorted(maps.Keys(all))
	whole := os.Getenv("DYNO_TEST_WHOLE") != ""
	snapshots := kept(t)
	for k, name := range slices.Sorted(maps.Keys(snapshots)) {
		s := snapshots[name]
		m := corpusName.FindStringSubmatch(name)
		if m == nil {
			continue // another test says so
		}
		f, ok := fault.Set().Find(m[1])
		if !ok {
			continue
		}
		seed, _ := strconv.ParseUint(m[3], 10, 64)
		b, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		for i, how := range ways {
			if !whole && (i+k)%tenth != 0 {
				continue
			}
			spoil := all[how]
			x, err := snapshot.Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			spoil(x)
			func() {
				defer func() {
					if r := recover(); r != nil {
						t.Errorf("%s, %s: panic: %v", name, how, r)
					}
				}()
				_, findings := judged.Findings(x)
				for _, g := range findings {
					want := f.Expect(seed)
					same := want
					// without a plan a lacking index may be found by another way, with the same change
					same.Rule = g.Rule
					if g.Rule != want.Rule && same.Wrong(g) != "" && f.Belongs[g.Rule] == "" &&
						g.Confidence != finding.Possible {
						t.Errorf("%s, %s: %s: %s", name, how, g.ID, g.Title)
					}
					if text := fmt.Sprintf("%+v", g); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
						t.Errorf("%s, %s: %s tells no number: %s", name, how, g.ID, text)
					}
				}
			}()
		}
	}
}
