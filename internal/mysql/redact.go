package mysql

import (
	"context"
	"sync"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/mysql/capture"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

// Redact implements family.Redacter.
func (Family) Redact(s *snapshot.Snapshot) { capture.Redact(s) }

// examples keeps in memory the statements that classes of a redacted server were seen by, for as long as their plans
// may be asked for: a plan depends on the literals, and what is kept of either has none.
type examples struct {
	mu   sync.Mutex
	turn int
	of   map[[2]string]realExample // by class and schema
}

type realExample struct {
	sql  string
	turn int
}

// How many statements are kept, the classes with most time first, and for how many windows.
const (
	mostExamples = 100
	exampleTurns = 12
)

// take keeps the examples of a window's classes and leaves their redacted form in the classes.
func (e *examples) take(classes []class.Class) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.turn++; e.of == nil {
		e.of = map[[2]string]realExample{}
	}
	for k, x := range e.of {
		if e.turn-x.turn > exampleTurns {
			delete(e.of, k)
		}
	}
	for i := range classes {
		c := &classes[i]
		if c.Example == "" {
			continue
		}
		k := [2]string{c.ID, c.Schema}
		if _, ok := e.of[k]; !ok && len(e.of) >= mostExamples {
			c.Example = ""
			continue
		}
		e.of[k] = realExample{c.Example, e.turn}
		c.Example = mytext.Redacted(c.Example)
	}
}

func (e *examples) get(id, schema string) (sql string, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x, ok := e.of[[2]string{id, schema}]
	return x.sql, ok
}

// redactedClasses are classes whose examples have no literals.
type redactedClasses struct {
	family.Classes
	real *examples
}

func (r redactedClasses) Turn(ctx context.Context) ([]class.Class, []source.Source, error) {
	all, sources, err := r.Classes.Turn(ctx)
	r.real.take(all)
	return all, sources, err
}

func (r redactedClasses) End(ctx context.Context) ([]class.Class, []source.Source, error) {
	all, sources, err := r.Classes.End(ctx)
	r.real.take(all)
	return all, sources, err
}

// redactedPlans are plans and definitions without the parts that hold literals. Of a statement without its literals the
// plan of the statement that its class was seen by is asked for.
type redactedPlans struct {
	*capture.Explainer
	real *examples
}

var _ family.Definer = redactedPlans{} // as those of a server that is not redacted

func (r redactedPlans) Explain(ctx context.Context, id, schema, statement string) (explain.Plan, error) {
	sql, ok := r.real.get(id, schema)
	switch {
	case ok:
	case mytext.Redacted(statement) == statement:
		return explain.Plan{
			Class: id, Schema: schema, Error: "not run: the values of the statement are redacted, and no execution " +
				"of its class was seen in the last minute",
		}, nil
	default:
		sql = statement
	}
	p, err := r.Explainer.Explain(ctx, id, schema, sql)
	capture.RedactPlan(&p)
	return p, err
}

// Tables implements family.Definer.
func (r redactedPlans) Tables(ctx context.Context, database, statement string) ([]schema.Table, error) {
	all, err := r.Explainer.Tables(ctx, database, statement)
	capture.RedactTables(all)
	return all, err
}
