package wire

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// seeds gives a fuzz target the captures whose names begin with kind, each whole and cut in the middle.
func seeds(f *testing.F, kind string) {
	f.Helper()
	names, err := filepath.Glob(captures + "/" + kind + "-*")
	if err != nil || len(names) < 2 {
		f.Fatalf("%d captures of %s: %v", len(names), kind, err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
}

// play feeds data in pieces and tells all that the Reader says up to the end of the answer, and how much it took.
func play(t *testing.T, r *Reader, data []byte, piece int) (story string, used int) {
	t.Helper()
	var b strings.Builder
	for used < len(data) {
		n := min(piece, len(data)-used)
		in := append([]byte(nil), data[used:used+n]...)
		r.Feed(in)
		used += n
		for ev := Row; ev == Row; {
			var err error
			ev, err = r.Next()
			switch e := (*Error)(nil); {
			case errors.As(err, &e):
				fmt.Fprintf(&b, "refused %v\n", e)
				return b.String(), used
			case err != nil:
				if !errors.Is(err, ErrMalformed) {
					t.Fatalf("error of another kind: %v", err)
				}
				fmt.Fprintln(&b, "malformed")
				return b.String(), used
			case ev == Row:
				size := 0
				for _, v := range r.Row() {
					size += len(v.Bytes)
				}
				if size > used+64*len(r.Row()) {
					t.Fatalf("a row of %d bytes comes out of %d", size, used)
				}
				fmt.Fprintf(&b, "%d: %s\n", r.Result(), show(r.Row()))
			case ev == Done:
				fmt.Fprintf(&b, "done %+v\n", r.OK())
				return b.String(), used
			}
		}
		for i := range in {
			in[i] = 0xa5
		}
	}
	return b.String(), used
}

func FuzzText(f *testing.F) {
	seeds(f, "text")
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		whole, bytewise := &Reader{Caps: unpackCaps(b[0])}, &Reader{Caps: unpackCaps(b[0])}
		whole.ExpectText()
		bytewise.ExpectText()
		w, _ := play(t, whole, b[1:], len(b))
		p, _ := play(t, bytewise, b[1:], 1)
		if w != p {
			t.Errorf("in one piece:\n%s\nbyte by byte:\n%s", w, p)
		}
	})
}

func FuzzPrepare(f *testing.F) {
	seeds(f, "prepare")
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		whole, bytewise := &Reader{Caps: unpackCaps(b[0])}, &Reader{Caps: unpackCaps(b[0])}
		var s1, s2 Stmt
		whole.ExpectPrepare(&s1)
		bytewise.ExpectPrepare(&s2)
		w, _ := play(t, whole, b[1:], len(b))
		p, _ := play(t, bytewise, b[1:], 1)
		if w += fmt.Sprintf("%+v", s1); w != p+fmt.Sprintf("%+v", s2) {
			t.Errorf("in one piece:\n%s\nbyte by byte:\n%s%+v", w, p, s2)
		}
		if len(s1.Columns) > len(b) {
			t.Errorf("%d columns come out of %d bytes", len(s1.Columns), len(b))
		}
		if whole.broken == nil && whole.Idle() && s1.Params < 1<<10 {
			s1.AppendExecute(nil, make([]Value, s1.Params))
		}
	})
}

func FuzzBinary(f *testing.F) {
	seeds(f, "binary")
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		whole, bytewise := &Reader{Caps: unpackCaps(b[0])}, &Reader{Caps: unpackCaps(b[0])}
		var s1, s2 Stmt
		bytewise.ExpectPrepare(&s2)
		p, used := play(t, bytewise, b[1:], 1)
		if bytewise.broken != nil || !bytewise.Idle() {
			return
		}
		whole.ExpectPrepare(&s1)
		w, _ := play(t, whole, b[1:1+used], len(b))
		bytewise.ExpectRows(&s2)
		whole.ExpectRows(&s1)
		more, _ := play(t, bytewise, b[1+used:], 1)
		p += more
		more, _ = play(t, whole, b[1+used:], len(b))
		if w += more; w != p {
			t.Errorf("in one piece:\n%s\nbyte by byte:\n%s", w, p)
		}
	})
}

// login feeds data in pieces and tells what the Handshake answers, but for what is drawn at random.
func login(t *testing.T, data []byte, piece int, local bool) string {
	t.Helper()
	h := Handshake{
		User: "user", Password: "s3cret-s3cret", Database: "d", Local: local,
		Attributes: [][2]string{{"program_name", "dyno"}},
	}
	sent := []byte{}
	for used := 0; used < len(data); {
		n := min(piece, len(data)-used)
		send, done, err := h.Feed(append([]byte(nil), data[used:used+n]...))
		used += n
		sent = append(sent, send...)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrPlugin) {
				t.Fatalf("error of another kind: %v", err)
			}
			if strings.Contains(err.Error(), "s3cret") && !strings.Contains(string(data), "s3cret") {
				t.Fatalf("the password is in the error: %v", err)
			}
			return fmt.Sprintf("%v", err)
		}
		if done {
			return fmt.Sprintf("logged in with %d bytes, %x %+v", len(sent), h.Caps(), h.Greeting())
		}
	}
	return fmt.Sprintf("waits after %d bytes", len(sent))
}

func FuzzLogin(f *testing.F) {
	seeds(f, "login")
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, local := range []bool{false, true} {
			// More than a login is an error only where it arrives with it.
			if w, p := login(t, b, len(b), local), login(t, b, 1, local); w != p &&
				!strings.Contains(w, "more than a login") {
				t.Errorf("in one piece: %s\nbyte by byte: %s", w, p)
			}
		}
	})
}

func FuzzGreeting(f *testing.F) {
	seeds(f, "login")
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < headSize+1 {
			return
		}
		g, err := parseGreeting(b[headSize+1:])
		if err == nil && len(g.scramble) != scrambleLen {
			t.Errorf("%+v", g)
		}
	})
}
