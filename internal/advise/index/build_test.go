package index

import (
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// window is the length of every built snapshot, seconds.
const window = 10

// made is a snapshot under construction.
type made struct {
	s        *snapshot.Snapshot
	symptoms []finding.Symptom
}

// build returns a server with four CPUs that sees everything and has nothing to do.
func build() *made {
	from := time.Date(2026, 5, 1, 3, 0, 0, 0, time.UTC)
	m := &made{s: &snapshot.Snapshot{
		Format: snapshot.Format, From: from, To: from.Add(window * time.Second),
		Target: snapshot.Target{Name: "shop", Flavor: "mariadb", Version: "10.11.6", Local: true},
		Host:   snapshot.Host{CPUs: known.Of(4.0)},
	}}
	for _, n := range []string{"global_status", "digests", "statement_samples", "process", "host"} {
		m.s.Sources = append(m.s.Sources, snapshot.Source{Name: n, State: snapshot.OK, Reads: window})
	}
	m.rate("dyno_server_cpu_seconds_total", 1.7, "mode", "user").rate("dyno_server_cpu_seconds_total", 0.2, "mode",
		"system")
	m.rate("node_cpu_seconds_total", 1.8, "mode", "user").rate("node_cpu_seconds_total", 0.19, "mode", "idle").
		rate("node_cpu_seconds_total", 0.01, "mode", "iowait")
	m.rate("dyno_server_io_read_bytes_total", 0)
	return m
}

// rate adds a counter that grew by perSec each second.
func (m *made) rate(name string, perSec float64, labels ...string) *made {
	x := metric.Series{Name: name, Labels: metric.L(labels...), Kind: metric.Counter}
	for i := range window + 1 {
		x.Points = append(x.Points, metric.Point{
			At:    m.s.From.UnixMilli() + int64(i)*1000,
			Value: 1000 + perSec*float64(i),
		})
	}
	m.s.Series = append(m.s.Series, x)
	return m
}

// symptom adds what diagnose would have said.
func (m *made) symptom(kind, subject, text string) *made {
	m.symptoms = append(m.symptoms, finding.Symptom{
		ID: kind + ":" + subject, Kind: kind, Subject: subject, Title: text,
		Evidence: []finding.Evidence{{What: kind, Source: "test", Text: text}},
	})
	return m
}

// saturated leaves the server the two CPUs that it uses.
func (m *made) saturated() *made {
	m.s.Host.CPUs = known.Of(2.0)
	return m.symptom("cpu-saturated", "cpu", "the server uses 1.9 of 2 CPUs")
}

// exact adds a class counted by performance_schema: calls in the window, seconds each, rows examined and sent per call.
func (m *made) exact(sql string, calls uint64, sec float64, examined, sent uint64, more ...func(*class.Class)) *made {
	fp := sqltext.Fingerprint(sql)
	c := class.Class{
		ID: sqltext.ID(fp), Fingerprint: fp, Schema: "shop", Origin: class.PerformanceSchema, Count: calls,
		TimeSec:  float64(calls) * sec,
		Examined: known.Of(calls * examined), RowsSent: known.Of(calls * sent), Affected: known.Of(uint64(0)),
		Example:   sql,
		FullScans: known.Of(uint64(0)), NoIndex: known.Of(uint64(0)), FullJoins: known.Of(uint64(0)),
	}
	for _, f := range more {
		f(&c)
	}
	m.s.Classes = append(m.s.Classes, c)
	return m
}

// sampled adds a class seen by looking.
func (m *made) sampled(sql string, sec float64, more ...func(*class.Class)) *made {
	fp := sqltext.Fingerprint(sql)
	c := class.Class{
		ID: sqltext.ID(fp), Fingerprint: fp, Schema: "shop", Origin: class.Processlist, Sampled: true,
		Count: 20, TimeSec: sec, Example: sql,
	}
	for _, f := range more {
		f(&c)
	}
	m.s.Classes = append(m.s.Classes, c)
	return m
}

// plan adds the plan of the class added last.
func (m *made) plan(steps ...explain.Step) *made {
	m.s.Plans = append(m.s.Plans, explain.Plan{Class: m.s.Classes[len(m.s.Classes)-1].ID, Steps: steps})
	return m
}

func all(table string, rows float64, possible ...string) explain.Step {
	return explain.Step{
		SelectType: "SIMPLE", Table: table, Access: "ALL", Rows: rows, PossibleKeys: possible,
		Extra: []string{"Using where"},
	}
}

// table adds a table shop.NAME with a primary key id; columns are "name type bytes".
func (m *made) table(name string, rows uint64, columns ...schema.Column) *made {
	t := schema.Table{
		Ref: schema.Ref{Schema: "shop", Table: name}, Engine: "InnoDB", RowFormat: "Dynamic", Rows: known.Of(rows),
		Columns: append([]schema.Column{col("id", "bigint", 8)}, columns...),
		Indexes: []schema.Index{{
			Name: "PRIMARY", Unique: true, Type: "BTREE",
			Parts: []schema.IndexPart{{Column: "id", Cardinality: known.Of(rows)}},
		}},
	}
	m.s.Tables = append(m.s.Tables, t)
	return m
}

// index adds an index to the table added last.
func (m *made) index(name string, hidden bool, cardinality uint64, columns ...string) *made {
	x := schema.Index{Name: name, Type: "BTREE", Hidden: hidden}
	for _, c := range columns {
		p := schema.IndexPart{Column: c}
		if cardinality > 0 {
			p.Cardinality = known.Of(cardinality)
		}
		x.Parts = append(x.Parts, p)
	}
	t := &m.s.Tables[len(m.s.Tables)-1]
	t.Indexes = append(t.Indexes, x)
	return m
}

func col(name, typ string, bytes int) schema.Column {
	c := schema.Column{Name: name, Type: typ, DataType: typ, Bytes: bytes}
	if typ == "varchar" || typ == "text" {
		c.Charset, c.Type = "utf8mb4", fmt.Sprintf("%s(%d)", typ, bytes/4)
	}
	return c
}

// lose marks a source as not given.
func (m *made) lose(name string, state snapshot.SourceState, reason, fix string) *made {
	for i, x := range m.s.Sources {
		if x.Name == name {
			m.s.Sources[i] = snapshot.Source{Name: name, State: state, Reason: reason, Fix: fix}
		}
	}
	return m.symptom("not-observable", name, "Data unavailable: "+name+" ("+reason+"). Fix: "+fix)
}

func orders(m *made, rows uint64) *made {
	return m.table("orders", rows, col("customer", "int", 4), col("status", "varchar", 80),
		col("created", "datetime", 5), col("note", "text", 65535), col("extra", "json", 0))
}
