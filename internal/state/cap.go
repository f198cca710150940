package state

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxEngineStatus bounds the kept text of SHOW ENGINE INNODB STATUS, in bytes; servers end it at 1 MB.
const maxEngineStatus = 128 << 10

// These bound the texts of each list of a state, in bytes: about 1 MB with everything else. Statements of MaxText bytes
// in MaxSessions sessions fit, and so do real names; a server that reports longer ones loses elements.
const (
	sessionBytes     = 512 << 10
	waitBytes        = 256 << 10
	transactionBytes = 64 << 10
)

// Cap brings a state within the limits and into order: sessions that work before those that sleep, each by time; what
// takes part in a wait goes last. What was left out is counted in s.Left. Lists are replaced, never changed in place.
// To cap twice changes nothing.
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
	s.Sessions, left = keep(s.Sessions, MaxSessions, sessionBytes, func(x *Session) int {
		return words(&x.User, &x.Host, &x.DB, &x.Command, &x.Phase, &x.Wait, &x.ClassID) +
			clip(&x.SQL, MaxText) + clip(&x.Last, MaxText)
	}, func(x Session) bool { return involved[x.ID] })
	s.Left.Sessions += left
	s.Transactions = slices.Clone(s.Transactions)
	slices.SortStableFunc(s.Transactions, func(a, b Transaction) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.ID, b.ID))
	})
	s.Transactions, left = keep(s.Transactions, MaxSessions, transactionBytes, func(x *Transaction) int {
		return words(&x.ID, &x.Phase)
	}, func(x Transaction) bool { return involved[x.Session] })
	s.Left.Transactions += left
	words(&s.Reason, &s.Server)
	s.Sources, s.Classes = slices.Clone(s.Sources), slices.Clone(s.Classes)
	for i := range s.Sources {
		words(&s.Sources[i].Reason, &s.Sources[i].Fix)
	}
	for i := range s.Classes {
		words(&s.Classes[i].Fingerprint, &s.Classes[i].Schema)
	}
	for n := maxEngineStatus; clip(&s.EngineStatus, n) > 2*maxEngineStatus; n /= 2 { // it holds statements
	}
}

// maxWords bounds a name or a phrase of the server's, in bytes: a lock's object has three names of 64 characters.
const maxWords = 2 << 10

// words clips all to maxWords and returns the bytes that they take.
func words(all ...*string) (n int) {
	for _, s := range all {
		n += clip(s, maxWords)
	}
	return n
}

// clip is Clip for what is counted: it returns the bytes that are left, where a control character that is none of a
// text's lines counts for the six that it takes in JSON.
func clip(s *string, n int) int {
	*s = Clip(*s, n)
	size := len(*s)
	for i := range len(*s) {
		if c := (*s)[i]; c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			size += len(`\u0000`) - 1
		}
	}
	return size
}

// capWaits keeps one wait of each waiter first, for the session at the head of its queue where that is told, then the
// others.
func capWaits(s *State) []Wait {
	if len(s.Waits) == 0 {
		return s.Waits
	}
	all := slices.Clone(s.Waits)
	sizes := make([]int, len(all))
	for i := range all {
		x := &all[i]
		sizes[i] = words(&x.Why, &x.Object, &x.Mode, &x.Held)
	}
	waiter, seen := map[uint64]bool{}, map[uint64]bool{}
	for _, w := range all {
		waiter[w.Waiter] = true
	}
	chosen := make([]bool, len(all))
	n, room := 0, waitBytes
	for pass := range 3 {
		for i, w := range all {
			b, ok := w.Blocker.Get()
			if n == MaxWaits || sizes[i] > room || chosen[i] || pass == 0 && (!ok || waiter[b]) ||
				pass < 2 && seen[w.Waiter] {
				continue
			}
			chosen[i], seen[w.Waiter] = true, true
			n++
			room -= sizes[i]
		}
	}
	s.Left.Waits += len(all) - n
	return picked(all, chosen, n)
}

// keep returns at most n of the list in their order, of at most so many bytes together, the important ones before the
// others, and how many it left out. It clips those it looks at, in place.
func keep[T any](list []T, n, bytes int, clip func(*T) int, important func(T) bool) ([]T, int) {
	chosen, kept := make([]bool, len(list)), 0
	for _, first := range []bool{true, false} {
		for i := range list {
			if kept == n || important(list[i]) != first {
				continue
			}
			if size := clip(&list[i]); size <= bytes {
				chosen[i] = true
				kept++
				bytes -= size
			}
		}
	}
	return picked(list, chosen, kept), len(list) - kept
}

// picked returns the n chosen ones of a list.
func picked[T any](list []T, chosen []bool, n int) []T {
	if n == len(list) {
		return list
	}
	out := make([]T, 0, n)
	for i, x := range list {
		if chosen[i] {
			out = append(out, x)
		}
	}
	return out
}

// Busy reports whether a session works on something.
func (s Session) Busy() bool { return !s.Idle() && s.Command != "Daemon" }

// Idle reports whether a session waits for its client: "Sleep", in PostgreSQL "idle", "idle in transaction" and the
// like.
func (s Session) Idle() bool { return s.Command == "Sleep" || strings.HasPrefix(s.Command, "idle") }

func bools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Clip returns s as valid UTF-8 of at most n bytes, cut at a character: bytes that are none become U+FFFD. What is cut
// off is not kept in memory with it.
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
