package family

import (
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/state"
)

// Figures are what a family calls the figures that every family has.
type Figures interface {
	// Headline says what the headline metrics of its servers are made of.
	Headline() *state.Names
	// Names returns what it calls those that are asked for one by one.
	Names() Names
	// Help returns one sentence on a metric that only its servers have, "" when there is none to say.
	Help(name string) string
}

// Setting is a setting with its value.
type Setting struct{ Name, Value string }

// Names are what a family calls figures. The zero value of a field says that its servers do not report it.
type Names struct {
	Statements  metric.Ref   // counter of statements that were executed, Dyno's own among them
	RowReads    []metric.Ref // counters whose sum is the rows that the storage engine handed to the server
	RowLockTime metric.Ref   // counter of the time that sessions waited for rows, milliseconds
	Connected   metric.Ref   // gauge of connections, Dyno's own among them
	Limit       metric.Ref   // gauge of how many there may be
	Refused     []metric.Ref // counters of connections that were refused for want of room or of means
	// Telling returns the settings that say most about a server as people write them, for the head of a report; nil
	// where none are known.
	Telling   func(settings map[string]string) []Setting
	Settings  string // what stands before the name of a setting in the name of its series
	LimitName string // the setting of how many connections there may be
	Status    string // what the engine's own report on itself is called, see state.State.EngineStatus
}
