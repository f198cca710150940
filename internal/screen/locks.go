package screen

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

// locks returns who waits for whom, root blockers on top, in at most limit rows below the heading.
func locks(s *state.State, filter string, width, limit int) []row {
	roots := state.Tree(s.Waits)
	g := grove{
		s: s, sessions: map[uint64]*state.Session{}, trx: map[uint64]*state.Transaction{}, width: width,
		limit: limit,
	}
	for i := range s.Sessions {
		g.sessions[s.Sessions[i].ID] = &s.Sessions[i]
	}
	for i := range s.Transactions {
		if t := &s.Transactions[i]; g.trx[t.Session] == nil || g.trx[t.Session].Seconds < t.Seconds {
			g.trx[t.Session] = t
		}
	}
	waiters := len(waiting(s))
	title := line{{"locks ", strong}}
	if waiters == 0 {
		return []row{heading(title.add(dim, nothingHere(s, "", "no waiters", source.Locks)))}
	}
	title = title.add(bad, unit.Plural(waiters, "session waits", "sessions wait")).add(dim, " behind "+
		unit.Plural(len(roots), "root blocker", "root blockers"))
	for _, r := range roots {
		if filter == "" || g.matches(r, filter) {
			g.root(r)
		}
	}
	rows := g.rows
	if len(rows) == 0 {
		rows = []row{heading(as(dim, nothingHere(s, filter, "")))}
	}
	if len(rows)+g.more > limit {
		more := len(rows) + g.more - min(len(rows), max(0, limit-1))
		rows = append(rows[:max(0, limit-1):max(0, limit-1)], heading(as(dim, "… "+strconv.Itoa(more)+" more lines")))
	}
	return append([]row{heading(title)}, rows...)
}

// grove draws trees of waits.
type grove struct {
	s        *state.State
	sessions map[uint64]*state.Session
	trx      map[uint64]*state.Transaction
	width    int
	limit    int
	rows     []row
	more     int // lines of waiters beyond limit, which are not drawn
}

// root draws a blocker and below it those that wait.
func (g *grove) root(r state.Root) {
	n := unit.Plural(r.Total, "waits", "wait")
	id, ok := r.Session.Get()
	if !ok {
		l := line{{"blocker unknown", bad}, {": " + squeeze(r.Why), plain}}
		if r.Why == "" {
			l = line{{"blocker unknown", bad}}
		}
		if r.Object != "" {
			l = l.add(dim, "  of "+clean(r.Object))
		}
		g.rows = append(g.rows, row{ends(l, as(bad, n), g.width), ref{aBlocker, r.Object, r.Why}})
	} else {
		l := line{{"● ", bad}, {strconv.FormatUint(id, 10), strong}}
		if r.Cycle {
			l = l.add(warn, " in a circle")
		}
		l = append(l, g.who(id)...)
		g.rows = append(g.rows, row{ends(l, as(bad, n), g.width), g.ref(id, "")})
		g.rows = append(g.rows, row{line: g.last(id)})
	}
	for i, w := range r.Waiters {
		g.node(w, "  ", i == len(r.Waiters)-1, strconv.FormatUint(id, 10)+r.Object)
	}
}

// node draws one that waits.
func (g *grove) node(n state.Node, indent string, last bool, path string) {
	if len(g.rows) > g.limit { // each of some hundred blockers may have all of them behind it
		g.more++
		for _, c := range n.Waiters {
			g.node(c, "", false, "")
		}
		return
	}
	branch, below := "├ ", "│ "
	if last {
		branch, below = "└ ", "  "
	}
	w := n.Wait
	l := line{{indent + branch, dim}, {strconv.FormatUint(w.Waiter, 10), strong}}
	l = l.add(warn, " "+shown(w.Seconds, seconds))
	what := string(w.Kind)
	if w.Object != "" {
		what += " " + clean(w.Object)
	}
	if w.Mode != "" {
		what += " " + clean(w.Mode)
	}
	if w.Held != "" {
		what += " (held: " + clean(w.Held) + ")"
	}
	l = l.add(plain, " "+what)
	if x := g.sessions[w.Waiter]; x != nil {
		l = l.add(dim, " "+clean(x.User)).add(plain, " "+squeeze(head(x.SQL)))
	}
	path += "/" + strconv.FormatUint(w.Waiter, 10)
	g.rows = append(g.rows, row{l.fit(g.width), g.ref(w.Waiter, path)})
	for i, c := range n.Waiters {
		g.node(c, indent+below, i == len(n.Waiters)-1, path)
	}
}

func (g *grove) ref(id uint64, path string) ref {
	return ref{aSession, strconv.FormatUint(id, 10), "lock" + path}
}

// who says who a session is and since when it holds what it holds.
func (g *grove) who(id uint64) line {
	var l line
	x := g.sessions[id]
	if x == nil {
		l = l.add(dim, "  not among the observed sessions")
	} else {
		l = l.add(plain, "  "+account(x.User, x.Host))
		if x.DB != "" {
			l = l.add(plain, "  "+clean(x.DB))
		}
		l = l.add(plain, "  "+clean(x.Command)+" "+seconds(x.Seconds))
		if x.Phase != "" {
			l = l.add(dim, " "+clean(x.Phase))
		}
	}
	if t := g.trx[id]; t != nil {
		l = l.add(warn, "  transaction "+seconds(t.Seconds))
		if n, ok := t.Locks.Get(); ok {
			l = l.add(dim, ", "+unit.Plural(int(n), "row locked", "rows locked"))
		}
		if n, ok := t.Modified.Get(); ok {
			l = l.add(dim, ", "+unit.Plural(int(n), "modified", "modified"))
		}
	}
	return l
}

// last says what a blocker runs, or ran last.
func (g *grove) last(id uint64) line {
	l := line{{"    ", plain}}
	label, sql := "last statement: ", ""
	if x := g.sessions[id]; x != nil {
		sql = cmp.Or(x.SQL, x.Last)
		if busy(*x) {
			label = "runs: "
		}
	}
	if sql == "" {
		return l.add(dim, "statement "+none+" (not reported by the server)").fit(g.width)
	}
	return l.add(dim, label).add(plain, squeeze(head(sql))).fit(g.width)
}

// matches reports whether the filter fits anybody in a tree.
func (g *grove) matches(r state.Root, filter string) bool {
	one := func(id uint64) bool {
		if x := g.sessions[id]; x != nil && fits(filter, x.User, x.Host, x.DB, x.SQL) {
			return true
		}
		return fits(filter, strconv.FormatUint(id, 10))
	}
	var any func(ns []state.Node) bool
	any = func(ns []state.Node) bool {
		for _, n := range ns {
			if fits(filter, n.Wait.Object, string(n.Wait.Kind)) || one(n.Wait.Waiter) || any(n.Waiters) {
				return true
			}
		}
		return false
	}
	if id, ok := r.Session.Get(); ok && one(id) {
		return true
	}
	return fits(filter, r.Object, r.Why) || any(r.Waiters)
}

// account writes user and host; the port of a host says nothing.
func account(user, host string) string {
	if host == "" {
		return clean(user)
	}
	if h, port, ok := strings.Cut(host, ":"); ok && !strings.Contains(port, ":") {
		host = h
	}
	return clean(user) + "@" + clean(host)
}
