package sources

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/state"
)

// ddlWatch turns sessions that were seen at a schema change into events: one when it is first seen, with no end, and
// one with the same ID when it is gone, with the end. A change that begins and ends between two looks is not seen. Of
// an application that changes its schema all the time the first few of a kind are told in each minute, and how many
// more there were.
type ddlWatch struct {
	running map[ddlKey]*event.Event // one without an ID is only counted
	events  []event.Event
	last    time.Time // look
	minute  time.Time
	kinds   map[string]*ddlKind // of that minute
}

// ddlKind is changes of one minute that are alike.
type ddlKind struct {
	n    int
	more event.Event // from the first that was only counted to the last
}

// ddlKey tells one statement of a session from the next.
type ddlKey struct {
	session uint64
	text    string
}

// isDDL is for the body of a statement: expressions are slow, and of comments in front there may be any number.
var isDDL = lazyregexp.New(`(?is)^(?:ALTER|CREATE|DROP|TRUNCATE|OPTIMIZE|RENAME|REPAIR)\s+` +
	`(?:OR\s+REPLACE\s+|ONLINE\s+|OFFLINE\s+|IGNORE\s+|UNIQUE\s+|FULLTEXT\s+|SPATIAL\s+|NO_WRITE_TO_BINLOG\s+|LOCAL\s+)*(?:TABLE|TABLES|INDEX|DATABASE|SCHEMA|VIEW|TABLESPACE|PARTITION)\b`)

const (
	ddlText  = 200 // bytes of an event's text
	ddlEach  = 3   // changes of a kind in a minute that are events of their own
	ddlKinds = 20  // kinds that are told apart in a minute
)

// kind counts a change and reports whether it is only counted.
func (d *ddlWatch) kind(began time.Time, line string) (counted bool) {
	name, _, _ := strings.Cut(line, "(")
	name = state.Clip(strings.TrimSpace(event.Alike(name)), ddlText)
	k := d.kinds[name]
	if k == nil && len(d.kinds) >= ddlKinds {
		name = event.OtherDDL
		k = d.kinds[name]
	}
	if k == nil {
		k = &ddlKind{more: event.Event{Kind: event.DDL, Text: name}}
		if len(d.kinds) >= ddlKinds {
			k.n = ddlEach // of these none
		}
		d.kinds[name] = k
	}
	if k.n++; k.n <= ddlEach {
		return false
	}
	if k.more.At.IsZero() {
		k.more.At = began
	}
	k.more.Until = began
	return true
}

// turn tells what was only counted in the minute before.
func (d *ddlWatch) turn(at time.Time) {
	minute := at.Truncate(time.Minute)
	if minute.Equal(d.minute) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(d.kinds)) {
		if k := d.kinds[name]; k.n > ddlEach {
			k.more.Text = event.More(k.n-ddlEach, name)
			d.events = append(d.events, k.more)
		}
	}
	d.minute, d.kinds = minute, map[string]*ddlKind{}
}

// look takes the sessions of a round.
func (d *ddlWatch) look(at time.Time, sessions []state.Session) {
	if d.running == nil {
		d.running = map[ddlKey]*event.Event{}
	}
	d.turn(at)
	here := map[ddlKey]bool{}
	for i := range sessions {
		s := &sessions[i]
		if s.SQL == "" || !clientCommand(s.Command) || !isDDL.MatchString(mytext.Body(s.SQL)) {
			continue
		}
		k := ddlKey{s.ID, s.SQL}
		here[k] = true
		began := at.Add(-time.Duration(s.Seconds * float64(time.Second))).Truncate(time.Millisecond)
		if e := d.running[k]; e != nil && began.Before(e.At.Add(3*time.Second)) {
			continue
		} else if e != nil { // the same statement once more
			d.end(k, d.last)
		}
		line := strings.Join(strings.Fields(mytext.Redacted(s.SQL)), " ")
		e := &event.Event{At: began, Kind: event.DDL, Text: state.Clip(line, ddlText)}
		d.running[k] = e
		if !d.kind(began, line) {
			e.ID = fmt.Sprintf("ddl-%d-%d", s.ID, began.UnixMilli())
			d.events = append(d.events, *e)
		}
	}
	for k := range d.running {
		if !here[k] {
			d.end(k, at)
		}
	}
	d.last = at
	if len(d.events) > 1000 { // nobody takes them
		d.events = slices.Delete(d.events, 0, len(d.events)-1000)
	}
}

func (d *ddlWatch) end(k ddlKey, at time.Time) {
	e := d.running[k]
	delete(d.running, k)
	if e.ID == "" {
		return
	}
	e.Until = at
	d.events = append(d.events, *e)
}

// take returns the events since the last call.
func (d *ddlWatch) take() []event.Event {
	e := d.events
	d.events = nil
	return e
}
