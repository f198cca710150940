package internal_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/incident"
	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/state"
)

// Why a text holds no literal of a statement when statements are redacted.
const (
	named  = "a name, or an id: of a target, an account, a schema object, a metric, a session"
	worded = "the server's or the kernel's own word, or a setting"
	ours   = "Dyno's words with names and figures"
	prints = "fingerprint: made of statements as mytext.Certain reads them"
	errs   = "Dyno's words, or the server's about a statement of Dyno's own"
	counts = "figures"
	kept   = "documented to stay: expressions of definitions and settings, docs/access.md"

	// what takes the literals out
	inReading = "redacted: redact of mysql/sources and postgres/sources, of each reading"
	inWaits   = "redacted: made of sessions and waits of a state that was redacted before"
	inClasses = "redacted: redactedClasses of package mysql"
	inPlan    = "redacted: RedactPlan of mysql/capture, redact of postgres/capture"
	inTables  = "redacted: RedactTables of mysql/capture"
	inLook    = "redacted: redact of mysql/capture"
)

// decided is every field with a text of what is stored, shown and sent of a server.
var decided = map[string]string{
	"reading.Reading.Target": named,
	"metric.Sample.Name":     named,
	"metric.Series.Name":     named,
	"metric.Label.Name":      named,
	"metric.Label.Value":     named,
	"source.Source.Reason":   errs,
	"source.Source.Fix":      ours,

	"event.Event.ID":     named,
	"event.Event.Target": named,
	"event.Event.Ref":    named,
	"event.Event.Text":   inReading,

	"state.State.Target":            named,
	"state.State.Reason":            errs,
	"state.State.Server":            worded,
	"state.State.EngineStatus":      inReading,
	"state.Vital.Name":              named,
	"state.Session.User":            named,
	"state.Session.Host":            named,
	"state.Session.DB":              named,
	"state.Session.Command":         worded,
	"state.Session.Phase":           worded,
	"state.Session.Wait":            worded,
	"state.Session.SQL":             inReading,
	"state.Session.Last":            inReading,
	"state.Session.ClassID":         named,
	"state.Session.LastClass":       named,
	"state.Transaction.ID":          named,
	"state.Transaction.Phase":       worded,
	"state.Wait.Why":                ours,
	"state.Wait.Object":             inReading,
	"state.Wait.Mode":               worded,
	"state.Wait.Held":               worded,
	"state.ActiveClass.ID":          named,
	"state.ActiveClass.Fingerprint": prints,
	"state.ActiveClass.Schema":      named,

	"lock.Lock.Kind":                worded,
	"lock.Lock.Object":              inWaits,
	"lock.Lock.Index":               named,
	"lock.Lock.Mode":                worded,
	"lock.Lock.Record":              inReading,
	"lock.Party.Transaction":        named,
	"lock.Party.User":               named,
	"lock.Party.Host":               named,
	"lock.Party.Class":              named,
	"lock.Party.Fingerprint":        prints,
	"lock.Party.SQL":                inReading,
	"lock.Deadlock.ID":              named,
	"lock.Deadlock.From":            worded,
	"lock.Deadlock.Why":             ours,
	"lock.Missed.Why":               ours,
	"lock.Waiter.Held":              worded,
	"lock.Waiter.User":              named,
	"lock.Waiter.Class":             named,
	"lock.Waiter.Fingerprint":       prints,
	"lock.Waiter.SQL":               inWaits,
	"lock.Waiter.RootClass":         named,
	"lock.Root.Why":                 ours,
	"lock.Root.User":                named,
	"lock.Root.Host":                named,
	"lock.Root.Class":               named,
	"lock.Root.Fingerprint":         prints,
	"lock.Root.SQL":                 inWaits,
	"lock.Wait.ID":                  named,
	"lock.Pair.Blocking":            named,
	"lock.Pair.Blocked":             named,
	"lock.Pair.BlockingFingerprint": prints,
	"lock.Pair.BlockedFingerprint":  prints,

	"class.Class.ID":             named,
	"class.Class.Fingerprint":    prints,
	"class.Class.Parsable":       prints,
	"class.Class.Digest":         named,
	"class.Class.Schema":         named,
	"class.Class.Hosts":          named,
	"class.Class.Users":          named,
	"class.Class.Example":        inClasses,
	"class.Distributions.Reason": ours,
	"class.Distribution.ID":      named,
	"class.Distribution.Schema":  named,
	"sketch.Bins.data":           counts,

	"explain.Plan.Class":        named,
	"explain.Plan.Schema":       named,
	"explain.Plan.Error":        inPlan,
	"explain.Plan.Raw":          inPlan,
	"explain.Step.SelectType":   worded,
	"explain.Step.Table":        named,
	"explain.Step.Access":       worded,
	"explain.Step.PossibleKeys": named,
	"explain.Step.Key":          named,
	"explain.Step.KeyLen":       worded,
	"explain.Step.Ref":          named,
	"explain.Step.Extra":        inPlan,

	"snapshot.Snapshot.Variables": inLook + "; " + kept,
	"snapshot.Target.Name":        named,
	"snapshot.Target.Server":      named,
	"snapshot.Target.Version":     worded,
	"snapshot.Target.Comment":     worded,
	"snapshot.Program.Kind":       worded,
	"snapshot.Program.Schema":     named,
	"snapshot.Program.Name":       named,
	"snapshot.Program.Table":      named,
	"snapshot.Program.Body":       inLook,
	"snapshot.Account.User":       named,
	"snapshot.Account.Host":       named,
	"snapshot.Account.Plugin":     worded,
	"snapshot.Host.Kernel":        worded,
	"snapshot.Host.DatadirDev":    worded,
	"snapshot.Host.DatadirFS":     worded,
	"snapshot.Host.DatadirOpt":    worded,
	"snapshot.Host.Settings":      worded,
	"snapshot.Host.Limits":        worded,
	"snapshot.Host.Process":       worded,

	"schema.Ref.Schema":         named,
	"schema.Ref.Table":          named,
	"schema.Table.Engine":       worded,
	"schema.Table.Collation":    worded,
	"schema.Table.RowFormat":    worded,
	"schema.Table.Options":      worded,
	"schema.ForeignKey.Name":    named,
	"schema.ForeignKey.Columns": named,
	"schema.ForeignKey.Refers":  named,
	"schema.Trigger.Name":       named,
	"schema.Trigger.Timing":     worded,
	"schema.Trigger.Event":      worded,
	"schema.Trigger.Body":       inTables,
	"schema.Column.Name":        named,
	"schema.Column.Type":        kept,
	"schema.Column.DataType":    worded,
	"schema.Column.Charset":     worded,
	"schema.Column.Collation":   worded,
	"schema.Column.Generated":   kept,
	"schema.Column.Extra":       worded,
	"schema.Index.Name":         named,
	"schema.Index.Type":         worded,
	"schema.IndexPart.Column":   named,
	"schema.IndexPart.Expr":     kept,

	"incident.Incident.ID":        named,
	"incident.Incident.Target":    named,
	"incident.Incident.Title":     ours,
	"incident.Incident.Diagnosis": named,
	"incident.Condition.Title":    ours,
	"incident.Condition.Text":     ours,
	"incident.Finding.ID":         named,
	"incident.Finding.Title":      ours,
	"incident.Finding.Diagnosis":  named,
}

// TestEachTextIsDecided has who adds a text to what is stored of a server decide what becomes of it when the server's
// statements are redacted, and write that down. A field that holds a statement, a part of one or a value is taken out
// by the functions named there, and test/observe looks for what is left.
func TestEachTextIsDecided(t *testing.T) {
	found := map[string]bool{}
	seen := map[reflect.Type]bool{reflect.TypeFor[time.Time](): true}
	for _, root := range []reflect.Type{
		reflect.TypeFor[reading.Reading](), reflect.TypeFor[state.State](), reflect.TypeFor[lock.Deadlock](),
		reflect.TypeFor[lock.Wait](), reflect.TypeFor[class.Class](), reflect.TypeFor[class.Distributions](),
		reflect.TypeFor[explain.Plan](), reflect.TypeFor[snapshot.Snapshot](), reflect.TypeFor[incident.Incident](),
	} {
		texts(root, "", seen, found)
	}
	for field := range found {
		if decided[field] == "" {
			t.Errorf("%s is a text: Fix: write into decided what becomes of it when statements are redacted", field)
		}
	}
	for field := range decided {
		if !found[field] {
			t.Errorf("%s is no text of what is stored any more: Fix: remove it from decided", field)
		}
	}
}

// texts finds the fields below a type that hold a text. A type of its own that is a text has one of a few words.
func texts(x reflect.Type, field string, seen map[reflect.Type]bool, found map[string]bool) {
	switch x.Kind() {
	case reflect.String:
		if x == reflect.TypeFor[string]() {
			found[field] = true
		}
	case reflect.Interface:
		found[field] = true
	case reflect.Slice, reflect.Array, reflect.Pointer:
		if x.Elem().Kind() == reflect.Uint8 {
			found[field] = true
			return
		}
		texts(x.Elem(), field, seen, found)
	case reflect.Map:
		texts(x.Key(), field, seen, found)
		texts(x.Elem(), field, seen, found)
	case reflect.Struct:
		if seen[x] {
			return
		}
		seen[x] = true
		for f := range x.Fields() {
			texts(f.Type, x.String()+"."+f.Name, seen, found)
		}
	}
}
