package state

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/dyno-perf/dyno/internal/known"
)

func TestCapKeepsWhatMatters(t *testing.T) {
	s := &State{}
	for i := range 1000 {
		x := Session{ID: uint64(i + 1), Command: "Query", Seconds: float64(i)}
		if i%2 == 0 {
			x.Command = "Sleep"
		}
		s.Sessions = append(s.Sessions, x)
		s.Transactions = append(s.Transactions, Transaction{Session: uint64(i + 1), Seconds: float64(i)})
	}
	s.Waits = []Wait{{Waiter: 2, Blocker: known.Of(uint64(1))}} // the quickest, one of them asleep
	s.Sessions[999].SQL = strings.Repeat("é", MaxText)
	all := slices.Clone(s.Sessions)
	Cap(s)
	if len(s.Sessions) != MaxSessions || s.Left.Sessions != 1000-MaxSessions || len(s.Transactions) != MaxSessions ||
		s.Left.Transactions != 1000-MaxSessions {
		t.Fatalf("%d sessions, %d transactions, %+v", len(s.Sessions), len(s.Transactions), s.Left)
	}
	if s.Sessions[0].ID != 1000 || len(s.Sessions[0].SQL) != MaxText || s.Sessions[1].ID != 998 {
		t.Fatalf("first: %d, %d", s.Sessions[0].ID, s.Sessions[1].ID)
	}
	for _, id := range []uint64{1, 2} {
		if !slices.ContainsFunc(s.Sessions, func(x Session) bool { return x.ID == id }) ||
			!slices.ContainsFunc(s.Transactions, func(x Transaction) bool { return x.Session == id }) {
			t.Errorf("session %d takes part in a wait and is gone", id)
		}
	}
	if all[999].SQL != strings.Repeat("é", MaxText) {
		t.Error("a list was changed in place")
	}
	left := s.Left
	if Cap(s); s.Left != left {
		t.Errorf("capped twice: %+v", s.Left)
	}
}

func TestCapKeepsTheRootOfEachWait(t *testing.T) {
	s := &State{}
	for w := uint64(2); w <= 61; w++ { // a queue: 1 holds, each waits for all before
		for b := w - 1; b >= 1; b-- {
			s.Waits = append(s.Waits, Wait{Waiter: w, Blocker: known.Of(b)})
		}
	}
	n := len(s.Waits)
	Cap(s)
	if len(s.Waits) != MaxWaits || s.Left.Waits != n-MaxWaits {
		t.Fatalf("%d of %d, left %+v", len(s.Waits), n, s.Left)
	}
	if r := Tree(s.Waits); len(r) != 1 || r[0].Session.Or(0) != 1 || r[0].Total != 60 {
		t.Fatalf("%s", show(r))
	}
}

func TestClip(t *testing.T) {
	f := func(in string, n int, want string) {
		t.Helper()
		got := Clip(in, n)
		if got != want || !utf8.ValidString(got) {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	f("abc", 3, "abc")
	f("abcd", 3, "abc")
	f("aéé", 4, "aé")
	f("a\xffb", 9, "a\uFFFDb")
	f("\xff\xfe\xff", 4, "\uFFFD") // a run of bytes that are none is one mark
	f("\xffa\xffa", 4, "\uFFFDa")
	f("x\xe2\x82\xac", 3, "x")
	f("", 0, "")
	long := strings.Repeat("x", 100)
	if got := Clip(long, 3); unsafe.StringData(got) == unsafe.StringData(long) {
		t.Error("the whole text stays in memory")
	}
	if got := Clip(long, 100); unsafe.StringData(got) != unsafe.StringData(long) {
		t.Error("what is not cut is copied")
	}
}

// TestCapClipsWords: a server may call a lock or a transaction anything.
func TestCapClipsWords(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	s := &State{
		Reason: long, Sessions: []Session{{
			ID: 1, User: long, Host: long, DB: long, Command: long,
			Phase: long, Wait: long,
		}},
		Transactions: []Transaction{{ID: long, Phase: long}},
		Waits:        []Wait{{Waiter: 1, Why: long, Object: long, Mode: long, Held: long}},
	}
	Cap(s)
	b, err := json.Marshal(s)
	if err != nil || len(b) > 32<<10 {
		t.Errorf("%d bytes are kept: %v", len(b), err)
	}
}

// TestCapBoundsTheWhole: a server may fill each list with texts as long as they may be, of characters that take more
// room in JSON. A full state of honest statements is kept as it is.
func TestCapBoundsTheWhole(t *testing.T) {
	long := strings.Repeat("\x01", MaxText)
	s := &State{EngineStatus: strings.Repeat("\x7f\r", maxEngineStatus)}
	for i := range uint64(2 * MaxWaits) {
		s.Sessions = append(s.Sessions, Session{
			ID: i + 1, User: long, Host: long, DB: long, Command: long, Phase: long, Wait: long,
			ClassID: long, SQL: long, Last: long,
		})
		s.Transactions = append(s.Transactions, Transaction{Session: i + 1, ID: long, Phase: long})
		s.Waits = append(s.Waits, Wait{
			Waiter: i + 1, Blocker: known.Of(i), Why: long, Object: long,
			Mode: long, Held: long,
		})
	}
	Cap(s)
	b, err := Encode(s)
	if err != nil || len(b) > 1<<20 {
		t.Errorf("%d bytes are kept: %v", len(b), err)
	}
	for what, n := range map[string]int{
		"sessions": len(s.Sessions) + s.Left.Sessions, "waits": len(s.Waits) + s.Left.Waits,
		"transactions": len(s.Transactions) + s.Left.Transactions,
	} {
		if n != 2*MaxWaits {
			t.Errorf("%d of %d %s are kept or counted", n, 2*MaxWaits, what)
		}
	}
	if len(s.Sessions) == 0 || len(s.Waits) == 0 || len(s.Transactions) == 0 {
		t.Errorf("%d sessions, %d waits, %d transactions", len(s.Sessions), len(s.Waits), len(s.Transactions))
	}
	left := s.Left
	if Cap(s); s.Left != left {
		t.Errorf("capped twice: %+v, %+v", left, s.Left)
	}

	s = &State{}
	for i := range uint64(MaxWaits) {
		s.Waits = append(s.Waits, Wait{
			Waiter: i + 1, Blocker: known.Of(i), Object: strings.Repeat("t", 200),
			Mode: "X,REC_NOT_GAP", Held: "X,REC_NOT_GAP",
		})
	}
	for i := range uint64(MaxSessions) {
		s.Sessions = append(s.Sessions, Session{
			ID: i + 1, User: strings.Repeat("u", 32), Host: strings.Repeat("h", 60), DB: strings.Repeat("d", 64),
			Command: "Query", Phase: strings.Repeat("p", 64), SQL: "\t\n" + strings.Repeat("\r", MaxText-2),
		})
		s.Transactions = append(s.Transactions, Transaction{Session: i + 1, ID: "421763312345678", Phase: "LOCK WAIT"})
	}
	if Cap(s); s.Left != (Left{}) || s.Sessions[0].SQL != "\t\n"+strings.Repeat("\r", MaxText-2) {
		t.Errorf("left out: %+v; SQL %.9q", s.Left, s.Sessions[0].SQL)
	}
}
