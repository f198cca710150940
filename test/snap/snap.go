// Package snap builds snapshots for tests of judgement, piece by piece.
package snap

import (
	"fmt"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/sources"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// Window is the length of every built snapshot, seconds.
const Window = 10

// Made is a snapshot under construction.
type Made struct {
	S        *snapshot.Snapshot
	Symptoms []finding.Symptom
}

// Build returns a server with four CPUs that sees everything and has nothing to do.
func Build() *Made {
	from := time.Date(2026, 5, 1, 3, 0, 0, 0, time.UTC)
	m := &Made{S: &snapshot.Snapshot{
		Format: snapshot.Format, From: from, To: from.Add(Window * time.Second),
		Target: snapshot.Target{Name: "shop", Flavor: "mariadb", Version: "10.11.6", Local: true},
		Host:   snapshot.Host{CPUs: known.Of(4.0)},
	}}
	for _, n := range []source.Name{source.GlobalStatus, source.Digests, source.Samples, source.Process, source.Host} {
		m.S.Sources = append(m.S.Sources, source.Source{Name: n, State: source.OK, Reads: Window})
	}
	m.Rate("dyno_server_cpu_seconds_total", 1.7, "mode", "user").Rate("dyno_server_cpu_seconds_total", 0.2, "mode",
		"system")
	m.Rate("node_cpu_seconds_total", 1.8, "mode", "user").Rate("node_cpu_seconds_total", 0.19, "mode", "idle").
		Rate("node_cpu_seconds_total", 0.01, "mode", "iowait")
	m.Rate("dyno_server_io_read_bytes_total", 0)
	return m
}

// Rate adds a counter that grew by perSec each second.
func (m *Made) Rate(name string, perSec float64, labels ...string) *Made {
	return m.add(metric.Series{Name: name, Labels: metric.L(labels...), Kind: metric.Counter}, 1000, perSec)
}

// add adds a series of values that begin at from and grow by perSec each second.
func (m *Made) add(x metric.Series, from, perSec float64) *Made {
	for i := range Window + 1 {
		x.Points = append(x.Points, metric.Point{
			At:    m.S.From.UnixMilli() + int64(i)*1000,
			Value: from + perSec*float64(i),
		})
	}
	m.S.Series = append(m.S.Series, x)
	return m
}

// Symptom adds what diagnose would have said.
func (m *Made) Symptom(kind finding.SymptomKind, subject, text string) *Made {
	m.Symptoms = append(m.Symptoms, finding.Symptom{
		ID: kind.ID(subject), Kind: kind, Subject: subject, Title: text,
		Evidence: []finding.Evidence{{What: string(kind), Source: "test", Text: text}},
	})
	return m
}

// Saturated leaves the server the two CPUs that it uses.
func (m *Made) Saturated() *Made {
	m.S.Host.CPUs = known.Of(2.0)
	return m.Symptom(finding.CPUSaturated, "cpu", "the server uses 1.9 of 2 CPUs")
}

// Exact adds a class counted by performance_schema: calls in the Window, seconds each, rows examined and sent per call.
func (m *Made) Exact(sql string, calls uint64, sec float64, examined, sent uint64, more ...func(*class.Class)) *Made {
	fp := mytext.Fingerprint(sql)
	c := class.Class{
		ID: class.ID(fp), Fingerprint: fp, Schema: "shop", Origin: class.PerformanceSchema, Count: calls,
		TimeSec:  float64(calls) * sec,
		Examined: known.Of(calls * examined), RowsSent: known.Of(calls * sent), Affected: known.Of(uint64(0)),
		Example:   sql,
		FullScans: known.Of(uint64(0)), NoIndex: known.Of(uint64(0)), FullJoins: known.Of(uint64(0)),
	}
	for _, f := range more {
		f(&c)
	}
	m.S.Classes = append(m.S.Classes, c)
	return m
}

// Sampled adds a class seen by looking.
func (m *Made) Sampled(sql string, sec float64, more ...func(*class.Class)) *Made {
	fp := mytext.Fingerprint(sql)
	c := class.Class{
		ID: class.ID(fp), Fingerprint: fp, Schema: "shop", Origin: class.Processlist, Sampled: true,
		Count: 20, TimeSec: sec, Example: sql,
	}
	for _, f := range more {
		f(&c)
	}
	m.S.Classes = append(m.S.Classes, c)
	return m
}

// Plan adds the plan of the class added last.
func (m *Made) Plan(steps ...explain.Step) *Made {
	c := m.S.Classes[len(m.S.Classes)-1]
	m.S.Plans = append(m.S.Plans, explain.Plan{Class: c.ID, Schema: c.Schema, Steps: steps})
	return m
}

// All is a step that reads a whole table.
func All(table string, rows float64, possible ...string) explain.Step {
	return explain.Step{
		SelectType: "SIMPLE", Table: table, Access: "ALL", Rows: rows, PossibleKeys: possible,
		Extra: []string{"Using where"},
	}
}

// Table adds a table shop.NAME with a primary key id; columns are "name type bytes".
func (m *Made) Table(name string, rows uint64, columns ...schema.Column) *Made {
	t := schema.Table{
		Ref: schema.Ref{Schema: "shop", Table: name}, Engine: "InnoDB", RowFormat: "Dynamic", Rows: known.Of(rows),
		Columns: append([]schema.Column{Col("id", "bigint", 8)}, columns...),
		Indexes: []schema.Index{{
			Name: "PRIMARY", Unique: true, Type: "BTREE",
			Parts: []schema.IndexPart{{Column: "id", Cardinality: known.Of(rows)}},
		}},
	}
	m.S.Tables = append(m.S.Tables, t)
	return m
}

// Index adds an index to the table added last.
func (m *Made) Index(name string, hidden bool, cardinality uint64, columns ...string) *Made {
	x := schema.Index{Name: name, Type: "BTREE", Hidden: hidden}
	for _, c := range columns {
		p := schema.IndexPart{Column: c}
		if cardinality > 0 {
			p.Cardinality = known.Of(cardinality)
		}
		x.Parts = append(x.Parts, p)
	}
	t := &m.S.Tables[len(m.S.Tables)-1]
	t.Indexes = append(t.Indexes, x)
	return m
}

// Col is a column: name, data type, bytes.
func Col(name, typ string, bytes int) schema.Column {
	c := schema.Column{Name: name, Type: typ, DataType: typ, Bytes: bytes}
	if typ == "varchar" || typ == "text" {
		c.Charset, c.Type = "utf8mb4", fmt.Sprintf("%s(%d)", typ, bytes/4)
	}
	return c
}

// Lose marks a source as not given.
func (m *Made) Lose(name source.Name, state source.State, reason, fix string) *Made {
	for i, x := range m.S.Sources {
		if x.Name == name {
			m.S.Sources[i] = source.Source{Name: name, State: state, Reason: reason, Fix: fix}
		}
	}
	return m.Symptom(finding.NotObservable, string(name), "Data unavailable: "+string(name)+" ("+reason+"). Fix: "+fix)
}

// Gauge adds a figure that was the same all the time.
func (m *Made) Gauge(name string, value float64, labels ...string) *Made {
	return m.add(metric.Series{Name: name, Labels: metric.L(labels...), Kind: metric.Gauge}, value, 0)
}

// Status adds a counter of SHOW GLOBAL STATUS that grew by perSec each second: "Innodb_log_waits".
func (m *Made) Status(name string, perSec float64) *Made {
	return m.add(sources.StatusSeries(strings.ToLower(name)), 1000, perSec)
}

// StatusAt adds a gauge of SHOW GLOBAL STATUS that was the same all the time.
func (m *Made) StatusAt(name string, value float64) *Made {
	return m.add(sources.StatusSeries(strings.ToLower(name)), value, 0)
}

// Set sets a variable.
func (m *Made) Set(name, value string) *Made {
	if m.S.Variables == nil {
		m.S.Variables = map[string]string{}
	}
	m.S.Variables[name] = value
	return m
}

// MySQL makes it a MySQL of a version.
func (m *Made) MySQL(version string) *Made {
	m.S.Target.Flavor, m.S.Target.Version = "mysql", version
	return m
}

// Moment adds a moment.
func (m *Made) Moment(x state.State) *Made {
	x.Up = true
	if x.At.IsZero() {
		x.At = m.S.From.Add(time.Duration(len(m.S.Moments)+1) * time.Second)
	}
	m.S.Moments = append(m.S.Moments, x)
	return m
}

// Last returns the table added last, to be changed.
func (m *Made) Last() *schema.Table { return &m.S.Tables[len(m.S.Tables)-1] }

// View returns what rules are asked with; symptoms are those that were added, not diagnosed.
func (m *Made) View() *advise.View { return View(m.S, m.Symptoms) }
