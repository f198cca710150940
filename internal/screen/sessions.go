package screen

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// order is one way to sort: the name of its column and how it compares, what belongs on top first.
type order[T any] struct {
	name string
	cmp  func(a, b T) int
}

// most orders by a figure, the highest first and unknown ones last.
func most[T any, V cmp.Ordered](get func(T) known.Value[V]) func(a, b T) int {
	return func(a, b T) int {
		x, xok := get(a).Get()
		y, yok := get(b).Get()
		switch {
		case xok != yok:
			if xok {
				return -1
			}
			return 1
		case !xok:
			return 0
		}
		return cmp.Compare(y, x)
	}
}

var sessionOrders = []order[state.Session]{
	{"time", func(a, b state.Session) int {
		if x, y := busy(a), busy(b); x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Seconds, a.Seconds)
	}},
	{"examined", most(func(s state.Session) known.Value[uint64] { return s.Examined })},
	{"memory", most(func(s state.Session) known.Value[uint64] { return s.Memory })},
	{"user", func(a, b state.Session) int { return strings.Compare(a.User, b.User) }},
	{"database", func(a, b state.Session) int { return strings.Compare(a.DB, b.DB) }},
	{"id", func(a, b state.Session) int { return cmp.Compare(a.ID, b.ID) }},
}

// busy reports whether a session does something for a client now.
func busy(s state.Session) bool {
	return s.Command != "Sleep" && s.Command != "Daemon" && s.Command != "Binlog Dump" &&
		s.Command != "Binlog Dump GTID"
}

// sessions returns the table of sessions, at most limit of them.
func sessions(s *state.State, by order[state.Session], filter string, width, limit int) []row {
	list := make([]*state.Session, 0, len(s.Sessions)) // not the values: moving these about is the most of the work
	for i := range s.Sessions {
		x := &s.Sessions[i]
		if filter == "" || fits(filter, strconv.FormatUint(x.ID, 10), x.User, x.Host, x.DB, x.Command, x.Phase,
			x.Wait, x.SQL, x.ClassID) {
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b *state.Session) int { return by.cmp(*a, *b) })
	waits := waiting(s)
	t := newTable([]column{
		{"id", 8, true, 0},
		{"user", 10, false, 0},
		{"host", 14, false, 120},
		{"database", 10, false, 99},
		{"command", 8, false, 110},
		{"time", 8, true, 0},
		{"state", 18, false, 70},
		{"examined", 9, true, 120},
		{"memory", 9, true, 130},
		{"statement", 0, false, 0},
	}, width)
	title := line{{"sessions ", strong}}
	title = append(title, span{summary(s, len(list), filter), dim})
	rows := []row{heading(title)}
	if len(list) == 0 {
		return append(rows, heading(as(dim, nothingHere(s, filter, "no active sessions", source.Processlist))))
	}
	rows = append(rows, heading(t.head(by.name)))
	for i, x := range list {
		if i == limit {
			rows = append(rows, heading(as(dim, "… "+strconv.Itoa(len(list)-limit)+" more")))
			break
		}
		rows = append(rows, row{t.row(
			span{strconv.FormatUint(x.ID, 10), plain}, span{clean(x.User), plain}, span{clean(x.Host), dim},
			span{clean(x.DB), plain},
			span{clean(x.Command), plain}, lasted(*x), doing(*x, waits[x.ID]), span{shown(x.Examined, count), plain},
			span{shown(x.Memory, size), plain},
			statement(*x),
		), ref{aSession, strconv.FormatUint(x.ID, 10), ""}})
	}
	return rows
}

// summary words how many sessions there are and how many of them are listed.
func summary(s *state.State, listed int, filter string) string {
	var parts []string
	if n, ok := s.Connections.Get(); ok {
		parts = append(parts, strconv.Itoa(n)+" connected")
	}
	if n, ok := s.Idle.Get(); ok {
		parts = append(parts, strconv.Itoa(n)+" idle")
	}
	if filter != "" {
		parts = append(parts, strconv.Itoa(listed)+` match "`+clean(filter)+`"`)
	}
	return strings.Join(parts, ", ")
}

// waiting tells for each waiting session what sort of lock it waits for.
func waiting(s *state.State) map[uint64]state.WaitKind {
	m := map[uint64]state.WaitKind{}
	for _, w := range s.Waits {
		m[w.Waiter] = w.Kind
	}
	return m
}

// lasted writes how long a session has been at it, with a warning when it works for long.
func lasted(x state.Session) span {
	r := plain
	switch {
	case !busy(x):
		r = dim
	case x.Seconds >= 60:
		r = bad
	case x.Seconds >= 5:
		r = warn
	}
	return span{seconds(x.Seconds), r}
}

// doing says what a session is at: the lock it waits for, else how far it is, else the server's word.
func doing(x state.Session, lock state.WaitKind) span {
	if lock != "" {
		return span{"waits: " + string(lock) + " lock", bad}
	}
	if p, ok := x.Progress.Get(); ok {
		return span{strconv.FormatFloat(p*100, 'f', 1, 64) + " % " + clean(x.Phase), accent}
	}
	if x.Phase == "" && x.Wait != "" {
		return span{clean(x.Wait), plain}
	}
	return span{clean(x.Phase), plain}
}

// statement returns the text of a session's statement on one line.
func statement(x state.Session) span {
	if x.SQL == "" {
		return span{"", dim}
	}
	r := plain
	if !busy(x) {
		r = dim
	}
	return span{squeeze(head(x.SQL)), r}
}

// head is the beginning of a text, as much of it as may be seen on one line of any screen.
func head(s string) string {
	const most = 1024
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// silence says why a state has no figures.
func silence(s *state.State) string {
	if s.LoginRefused {
		return "the server refuses Dyno's login"
	}
	return "the server does not answer"
}

// nothingHere words an empty list: it is empty because of the filter, because the server was not there, because what
// would fill it was not read, or because there is nothing. names are those of the sources that would fill it.
func nothingHere(s *state.State, filter, empty string, names ...source.Name) string {
	switch {
	case filter != "" && s.Up:
		return `nothing matches "` + clean(filter) + `"`
	case !s.Up:
		return none + " not observed: " + silence(s)
	}
	for _, x := range s.Sources {
		if x.State != source.OK && slices.Contains(names, x.Name) {
			return none + " not observed: " + clean(string(x.Name)) + ": " + squeeze(x.Reason)
		}
	}
	return empty
}

func containsFold(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}
