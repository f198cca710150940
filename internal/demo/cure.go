package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/limit"
	"github.com/dyno-perf/dyno/internal/unit"
)

// remedy is a cure that is put in force and taken out of it again while the demo goes on.
type remedy struct {
	off, on string // the two states in words: "index hidden", "index visible"
	how     string // what is done in turn, for the story: "the index is hidden and shown"
	text    string // the same for the report, in sentences
	did     string // what cured it, for the report's first line: "One index, added online in 3.1 s"
	// turn brings the server into one of its states. It is called only when it is in the other one.
	turn func(ctx context.Context, cured bool) error
	// there is no way back that is worth taking: windows before, then the change, then windows after
	once   bool
	settle time.Duration // left out after each turn
	slow   bool          // a turn takes so long that fewer of them are made
	index  bool          // the change is one of a table, whose classes can be set side by side
	cured  bool          // the state that it is in
}

// cure puts what the finding suggests in force, or makes ready to do so, as the fault says.
func (d *demo) cure(ctx context.Context, res *Result) (*remedy, error) {
	f, found := d.parts[0].f, *res.Expected
	switch f.Cure.Kind {
	case fault.CureRestart:
		return d.restarting(found)
	case fault.CureActors:
		return d.replaying(max(demoSettle, f.Warm), "with them", "without them", "what the finding names is stopped "+
			"and restarted",
			"The same load ran all the time. What the finding names was stopped and restarted in turn, in random "+
				"order within each pair.", "Ending it"), nil
	case fault.CureWorkload:
		return d.replaying(max(demoSettle, f.Warm), "as it was", "as suggested", "the application runs as it was and "+
			"as the finding suggests",
			"The application ran as it was and as the finding suggests in turn, in random order within each pair, on "+
				"the same server.", "The application's change"), nil
	case fault.CureAction:
	}
	a := found.Action
	if a == nil {
		return nil, fmt.Errorf("cure %s: the finding has no action", f.Name)
	}
	in, err := app.Actions{App: d.a}.PreviewChange(ctx, d.seen.Server, found.ID, change.Options{Blocking: true})
	if err != nil {
		return nil, err
	}
	apply := func(ctx context.Context) error {
		var err error
		on, quiet := d.seen.Server, func(string) {}
		res.Action, err = app.Actions{App: d.a}.Apply(ctx, on, in, d.o.Voice.Progress(), quiet)
		if err != nil {
			return err
		}
		d.action = res.Action.Action
		took := unit.Seconds(res.Action.Ended.Sub(res.Action.Started).Seconds())
		d.event(event.Event{At: res.Action.Ended, Kind: event.Action, Text: marked(a.Kind), Ref: res.Action.ID})
		d.say("%s in %s. To undo: dyno undo %s --execute", capital(marked(a.Kind)), took, res.Action.ID)
		return nil
	}
	r := &remedy{off: "before", on: "after", settle: demoSettle, index: true}
	way := d.seen.faults.Way(a.Kind)
	switch {
	case a.Kind == finding.AddIndex && way != fault.Once:
		d.say("Adding the index under load, without locking the table.")
	case way == fault.Hiding:
		d.say("Hiding the index under load.")
	case way == fault.Setting:
		d.say("Setting %s while the server runs: %s", a.Variable, a.SQL)
	}
	if way != fault.Once {
		if err := apply(ctx); err != nil {
			return nil, err
		}
		r.cured = true
		r.turn = func(ctx context.Context, cured bool) error { return d.seen.faults.Turn(ctx, d.action, cured) }
	}
	took := unit.Seconds(res.Action.Ended.Sub(res.Action.Started).Seconds())
	switch {
	case a.Kind == finding.AddIndex && way == fault.Hiding:
		r.off, r.on = "index hidden", "index visible"
		r.how = "the index is hidden and shown"
		r.text = "The same load ran all the time. The index was hidden from the optimizer and shown again in turn, " +
			"in random order within each pair."
		r.did = "One index, added online in " + took + ","
	case a.Kind == finding.AddIndex && way == fault.Rebuilding:
		r.off, r.on = "without the index", "with the index"
		r.how = "the index is dropped and built"
		r.text = "The same load ran all the time. The index was dropped and built again in turn, without locking the " +
			"table, in random order within each pair."
		r.did = "One index, built online in " + took + ","
	case way == fault.Hiding:
		r.off, r.on = "index visible", "index hidden"
		r.how = "the index is shown and hidden"
		r.text = "The same load ran all the time. The index was shown to the optimizer and hidden again in turn, in " +
			"random order within each pair."
		r.did = "One index hidden"
	case way == fault.Setting:
		r.off, r.on, r.index = a.Variable+" as it was", a.Variable+"="+a.Value, false
		r.settle = max(demoSettle, f.Warm)
		r.how = "the variable is toggled"
		r.text = "The variable was toggled, in random order within each pair. The sessions of the load reconnected " +
			"each time, because some " +
			"settings apply to new sessions only."
		r.did = "One setting, changed while the server ran,"
		set := r.turn
		if back := set(ctx, false); back != nil && ctx.Err() == nil {
			// some take a value at the start that they refuse later
			d.say("A running server does not accept the old value again, so the proof needs restarts.")
			r, err := d.restarting(found)
			if err == nil {
				r.cured = true
			}
			return r, err
		}
		if err := set(ctx, true); err != nil {
			return nil, err
		}
		r.turn = func(ctx context.Context, cured bool) error {
			if err := set(ctx, cured); err != nil {
				return err
			}
			return d.again(ctx, cured)
		}
	default:
		r.once = true
		r.how = "windows before the change are compared with windows after it"
		r.text = "The same load ran all the time. The change cannot be applied and undone within seconds: the " +
			"windows before it came first and those after it " +
			"last, so that a drift of the machine would show as a difference, too."
		r.did = "One change of a table"
		r.turn = func(ctx context.Context, cured bool) error {
			if !cured {
				return nil
			}
			d.say("Now the change, under load: %s", a.SQL)
			return apply(ctx)
		}
	}
	r.slow = r.settle > 2*demoSettle
	return r, nil
}

// marked tells what an action has done, in the words of the timeline.
func marked(k finding.ActionKind) string {
	switch k {
	case finding.AddIndex:
		return "index added"
	case finding.DropIndex:
		return "index dropped"
	case finding.HideIndex:
		return "index hidden"
	case finding.SetVariable:
		return "variable set"
	case finding.SetKernel:
		return "kernel's setting changed"
	case finding.KillSession:
		return "session ended"
	case finding.AlterTable:
	}
	return "table changed"
}

// again ends the load and the actors and begins them anew.
func (d *demo) again(_ context.Context, cured bool) error {
	d.playing.end()
	d.playing = d.play(d.root, cured)
	return nil
}

// replaying is a cure outside of the server: another play.
func (d *demo) replaying(settle time.Duration, off, on, how, text, did string) *remedy {
	return &remedy{
		off: off, on: on, how: how, text: text, did: did, settle: settle, slow: settle > 2*demoSettle,
		turn: func(ctx context.Context, cured bool) error { return d.again(ctx, cured) },
	}
}

// restarting is a cure by lines in the server's file of settings and a new start of the server that was looked at.
func (d *demo) restarting(f finding.Finding) (*remedy, error) {
	lines, err := settingLines(d.set.File, f)
	if err != nil {
		return nil, err
	}
	before := settingsOf(d, d.seen != d.t)
	after := d.set.Merge(before, lines)
	var said []string
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		said = append(said, name+"="+lines[name])
	}
	d.say("The fix needs a restart with %s.", strings.Join(said, ", "))
	return &remedy{
		off: "as it was", on: strings.Join(said, " "), how: "the server is started with the old settings and with " +
			"the new ones",
		text: "The server was started with its old settings and with the new ones in turn, in random order within " +
			"each pair, on the same data and under the same load.",
		did: "Lines in " + d.set.File + " and a restart", settle: max(demoWarm, d.needs.Warm), slow: true,
		turn: func(ctx context.Context, cured bool) error {
			s := before
			if cured {
				s = after
			}
			return d.restart(ctx, s)
		},
	}, nil
}

// settingLines reads the lines for the server's file of settings of a finding; without any the variable that it sets
// while the server runs.
func settingLines(file string, f finding.Finding) (map[string]string, error) {
	if a := f.Action; len(f.Setting) == 0 && a != nil && a.Kind == finding.SetVariable {
		return map[string]string{a.Variable: a.Value}, nil
	}
	if len(f.Setting) == 0 || f.File != "" && !strings.Contains(f.File, file) {
		return nil, fmt.Errorf("cure %s: the finding has no lines for %s", f.Rule, file)
	}
	m := map[string]string{}
	for _, l := range f.Setting {
		l, _, _ = strings.Cut(l, "#")
		name, value, _ := strings.Cut(strings.TrimSpace(l), "=")
		if name = strings.TrimSpace(name); name != "" && !strings.HasPrefix(name, "[") {
			m[name] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return m, nil
}

// restart starts the server that is looked at with other settings, and the load with it.
func (d *demo) restart(ctx context.Context, settings map[string]string) error {
	d.playing.end()
	d.playing = nil
	if d.watching != nil { // an earlier turn may have failed half-way
		end := d.watching
		d.watching = nil
		if err := end(); err != nil {
			return err
		}
	}
	box, l := &d.box, d.needs.Limits
	replica := d.seen != d.t
	if replica {
		box, l = &d.twin, limit.Limits{}
	}
	name := box.Name
	if err := d.seen.Close(); err != nil { // while there is a server to take leave of
		return err
	}
	if err := d.yard.Down(ctx, name); err != nil {
		return err
	}
	b, t, err := d.up(ctx, name, settings, l)
	if err != nil {
		return err
	}
	*box, d.seen = b, t
	if !replica {
		d.t = t
	}
	if d.watching, err = d.watch(d.root); err != nil {
		return err
	}
	d.playing = d.play(d.root, false)
	return nil
}

// switchTo brings the remedy into a state and marks that on the timeline.
func (d *demo) switchTo(ctx context.Context, r *remedy, cured bool) error {
	if r.cured != cured {
		d.setNote("")
		if err := r.turn(ctx, cured); err != nil {
			return err
		}
		r.cured = cured
	}
	variant := r.off
	if cured {
		variant = r.on
	}
	d.setNote(variant)
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := len(d.events) - 1; i >= 0; i-- {
		if d.events[i].Kind == event.Variant && d.events[i].Until.IsZero() {
			d.events[i].Until = now
		}
	}
	d.events = append(d.events, event.Event{At: now, Target: d.seen.Spec().Name, Kind: event.Variant, Text: variant})
	return nil
}

// leaveCured puts the cure in force for good.
func (d *demo) leaveCured(ctx context.Context, r *remedy) (err error) {
	d.setNote("")
	if r.cured || !d.o.Keep && d.root.Err() != nil { // nobody will see it
		return nil //nolint:nilerr // it was stopped, and its server goes with it
	}
	for range 3 {
		if err = r.turn(ctx, true); err == nil {
			r.cured = true
			return nil
		}
		if serr := sleep(ctx, time.Second); serr != nil {
			return err
		}
	}
	return errors.Join(errors.New("apply the fix again"), err)
}
