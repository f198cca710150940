package scrape

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dyno/internal/event"
	"dyno/internal/pattern"
	"dyno/internal/sqltext"
	"dyno/internal/state"
)

// ddlWatch turns sessions that were seen at a schema change into events: one when it is first seen, with no end, and one with the same
// ID when it is gone, with the end. A change that begins and ends between two looks is not seen.
type ddlWatch struct {
	running map[ddlKey]*event.Event
	events  []event.Event
	last    time.Time // look
}

// ddlKey tells one statement of a session from the next.
type ddlKey struct {
	session uint64
	text    string
}

var isDDL = pattern.New(`(?is)^(?:\s|/\*.*?\*/|--[^\n]*\n|#[^\n]*\n)*(?:ALTER|CREATE|DROP|TRUNCATE|OPTIMIZE|RENAME|REPAIR)\s+` +
	`(?:OR\s+REPLACE\s+|ONLINE\s+|OFFLINE\s+|IGNORE\s+|UNIQUE\s+|FULLTEXT\s+|SPATIAL\s+|NO_WRITE_TO_BINLOG\s+|LOCAL\s+)*(?:TABLE|TABLES|INDEX|DATABASE|SCHEMA|VIEW|TABLESPACE|PARTITION)\b`)

// ddlText bounds the text of an event, bytes.
const ddlText = 200

// look takes the sessions of a round.
func (d *ddlWatch) look(at time.Time, sessions []state.Session) {
	if d.running == nil {
		d.running = map[ddlKey]*event.Event{}
	}
	here := map[ddlKey]bool{}
	for i := range sessions {
		s := &sessions[i]
		if s.SQL == "" || !clientCommand(s.Command) || !isDDL.MatchString(s.SQL) {
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
		line := strings.Join(strings.Fields(string(sqltext.Redact(nil, []byte(s.SQL)))), " ")
		e := &event.Event{ID: fmt.Sprintf("ddl-%d-%d", s.ID, began.UnixMilli()), At: began, Kind: event.DDL, Text: state.Clip(line, ddlText)}
		d.running[k] = e
		d.events = append(d.events, *e)
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
	e.Until = at
	d.events = append(d.events, *e)
}

// take returns the events since the last call.
func (d *ddlWatch) take() []event.Event {
	e := d.events
	d.events = nil
	return e
}
