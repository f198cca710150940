package state

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxInnoDB bounds the kept text of SHOW ENGINE INNODB STATUS, in bytes; servers end it at 1 MB.
const maxInnoDB = 128 << 10

// Cap brings a state within the limits and into order: sessions that work before those that sleep, each by time; what takes part in
// a wait goes last. What was left out is counted in s.Left. Lists are replaced, never changed in place. To cap twice changes nothing.
func Cap(s *State) {
	involved := map[uint64]bool{}
	s.Waits = capWaits(s)
	for _, w := range s.Waits {
		involved[w.Waiter] = true
		if b, ok := w.Blocker.Get(); ok {
			involved[b] = true
		}
	}
	s.Sessions = slices.Clone(s.Sessions)
	slices.SortStableFunc(s.Sessions, func(a, b Session) int {
		return cmp.Or(bools(b.Busy(), a.Busy()), cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.ID, b.ID))
	})
	var left int
	s.Sessions, left = keep(s.Sessions, MaxSessions, func(x Session) bool { return involved[x.ID] })
	s.Left.Sessions += left
	for i := range s.Sessions {
		x := &s.Sessions[i]
		words(&x.User, &x.Host, &x.DB, &x.Command, &x.Phase, &x.Wait, &x.ClassID)
		s.Sessions[i].SQL = Clip(s.Sessions[i].SQL, MaxText)
		s.Sessions[i].Last = Clip(s.Sessions[i].Last, MaxText)
	}
	s.Transactions = slices.Clone(s.Transactions)
	slices.SortStableFunc(s.Transactions, func(a, b Transaction) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.ID, b.ID))
	})
	s.Transactions, left = keep(s.Transactions, MaxSessions, func(x Transaction) bool { return involved[x.Session] })
	s.Left.Transactions += left
	for i := range s.Transactions {
		words(&s.Transactions[i].ID, &s.Transactions[i].Phase)
	}
	s.Waits = slices.Clone(s.Waits)
	for i := range s.Waits {
		x := &s.Waits[i]
		words(&x.Why, &x.Object, &x.Mode, &x.Held)
	}
	words(&s.Reason)
	s.Sources, s.Classes = slices.Clone(s.Sources), slices.Clone(s.Classes)
	for i := range s.Sources {
		words(&s.Sources[i].Reason, &s.Sources[i].Fix)
	}
	for i := range s.Classes {
		words(&s.Classes[i].Schema)
	}
	s.InnoDB = Clip(s.InnoDB, maxInnoDB)
}

// maxWords bounds a name or a phrase of the server's, in bytes: a lock's object has three names of 64 characters.
const maxWords = 2 << 10

func words(all ...*string) {
	for _, s := range all {
		*s = Clip(*s, maxWords)
	}
}

// capWaits keeps one wait of each waiter first, for the session at the head of its queue where that is told, then the others.
func capWaits(s *State) []Wait {
	if len(s.Waits) <= MaxWaits {
		return s.Waits
	}
	waiter, seen := map[uint64]bool{}, map[uint64]bool{}
	for _, w := range s.Waits {
		waiter[w.Waiter] = true
	}
	chosen := make([]bool, len(s.Waits))
	n := 0
	for pass := range 3 {
		for i, w := range s.Waits {
			b, ok := w.Blocker.Get()
			if n == MaxWaits || chosen[i] || pass == 0 && (!ok || waiter[b]) || pass < 2 && seen[w.Waiter] {
				continue
			}
			chosen[i], seen[w.Waiter] = true, true
			n++
		}
	}
	s.Left.Waits += len(s.Waits) - n
	out := make([]Wait, 0, n)
	for i, w := range s.Waits {
		if chosen[i] {
			out = append(out, w)
		}
	}
	return out
}

// keep returns at most n of the list in their order, the important ones before the others, and how many it left out.
func keep[T any](list []T, n int, important func(T) bool) ([]T, int) {
	if len(list) <= n {
		return list, 0
	}
	room := n
	for _, x := range list {
		if room > 0 && important(x) {
			room--
		}
	}
	out := make([]T, 0, n)
	vip := n - room
	for _, x := range list {
		switch {
		case important(x):
			if vip > 0 {
				vip--
				out = append(out, x)
			}
		case room > 0:
			room--
			out = append(out, x)
		}
	}
	return out, len(list) - len(out)
}

// Busy reports whether a session works on something.
func (s Session) Busy() bool { return s.Command != "Sleep" && s.Command != "Daemon" }

func bools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Clip returns s as valid UTF-8 of at most n bytes, cut at a character: bytes that are none become U+FFFD. What is cut off is not kept in
// memory with it.
func Clip(s string, n int) string {
	cut := len(s) > n
	if cut {
		s = s[:n]
		for i := len(s) - 1; i >= 0 && i > len(s)-utf8.UTFMax; i-- { // a character that the cut went through
			if utf8.RuneStart(s[i]) {
				if !utf8.FullRuneInString(s[i:]) {
					s = s[:i]
				}
				break
			}
		}
	}
	if utf8.ValidString(s) {
		if cut {
			s = strings.Clone(s)
		}
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > n {
		return Clip(s, n)
	}
	return s
}
