package trials

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/trial"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func header() Header {
	return Header{
		ID: "x-1", Plan: "dyno_plan: 1\nname: charset # ünïcode\n", Scale: "small",
		Axes: map[string][]string{"threads": {"1", "2"}},
		Set:  map[string]string{"trials.time": "5s"}, Hash: "abc", Dyno: "v1.2.3", Started: t0,
	}
}

// full is a trial of a minute with all that belongs to it.
func full(seq int) trial.Trial {
	rnd := rand.New(rand.NewPCG(uint64(seq), 1))
	t := trial.Trial{
		Seq: seq, Round: 1 + seq/4, Variant: "collation=utf8mb4_0900_ai_ci,threads=4",
		From:  t0.Add(time.Duration(seq) * time.Minute),
		Setup: 2.25, Warm: 10, Values: map[string]float64{"tps": 1234.5 + float64(seq), "p95_ms": 3.75},
		Texts:  map[string]string{"plan": "a → b"},
		Errors: map[string]uint64{"1213": 2}, Latency: hist.New(),
		Warnings: []string{"warm-up did not become stationary"},
		Env:      &trial.Environment{Facts: map[string]map[string]string{"variable": {}, "machine": {"cpu": "x"}}},
	}
	t.To = t.From.Add(time.Minute)
	for i := range 60 {
		t.Seconds = append(t.Seconds, trial.Second{
			At:     t.From.Add(time.Duration(i)*time.Second + 1234567),
			Length: 1.0000123, Ops: 1200 + rnd.Uint64N(100), P95: 3.5 + rnd.Float64(),
		})
	}
	for range 70_000 {
		t.Latency.Record(time.Duration(1e6 * math.Exp(rnd.NormFloat64())))
	}
	for i := range 650 { // a server has that many variables
		t.Env.Facts["variable"][fmt.Sprintf("performance_schema_variable_%d", i)] = fmt.Sprint(i * 16384)
	}
	return t
}

// small is a trial that takes little room.
func small(seq int) trial.Trial {
	return trial.Trial{
		Seq: seq, Round: seq, Variant: "base", From: t0, To: t0.Add(time.Second),
		Values: map[string]float64{"tps": float64(seq)},
	}
}

func create(t *testing.T) *Dir {
	t.Helper()
	d, err := Create(filepath.Join(t.TempDir(), "experiments", "x-1"), header())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func put(t *testing.T, d *Dir, ts ...trial.Trial) {
	t.Helper()
	for _, x := range ts {
		if err := d.Put(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
}

func reopen(t *testing.T, d *Dir) *Dir {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := Open(d.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func all(t *testing.T, d *Dir) []trial.Trial {
	t.Helper()
	ts, err := d.All()
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

// diff compares by meaning: histograms by what they write.
func diff(a, b any) string {
	return cmp.Diff(a, b, cmpopts.EquateEmpty(), cmp.Transformer("histogram", func(h *hist.Histogram) string {
		b, _ := json.Marshal(h)
		return string(b)
	}))
}

func TestRoundTrip(t *testing.T) {
	d := create(t)
	want := []trial.Trial{full(1), full(2), small(3)}
	put(t, d, want[1], want[0], want[2]) // the order on disk is that of the numbers
	if d := diff(want, all(t, d)); d != "" {
		t.Error(d)
	}
	if _, ok, err := d.Result(); ok || err != nil {
		t.Errorf("a result before there is one: %v, %v", ok, err)
	}
	r := trial.Result{Format: trial.Format, ID: "x-1", Trials: want, Sentence: "B is 3 % faster"}
	for _, r.Stopped = range []string{"the budget", ""} { // the later one counts
		if err := d.PutResult(r); err != nil {
			t.Fatal(err)
		}
	}
	d = reopen(t, d)
	h := header()
	h.Format = Format
	if x := diff(h, d.Header()); x != "" {
		t.Error(x)
	}
	if x := diff(want, all(t, d)); x != "" {
		t.Error(x)
	}
	got, ok, err := d.Result()
	if !ok || err != nil || diff(r, got) != "" {
		t.Errorf("%v, %v: %s", ok, err, diff(r, got))
	}
	k, err := Read(d.Path())
	if err != nil || len(k.Trials) != 3 || k.Result == nil || len(k.Warnings) > 0 {
		t.Errorf("%+v, %v", k, err)
	}
}

func TestSizeOfATrial(t *testing.T) {
	b, err := encode(full(7))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(b))
	if len(b) > 50_000 {
		t.Errorf("a trial of a minute takes %d bytes", len(b))
	}
}

// says fails unless err is of a kind and holds the texts.
func says(t *testing.T, err, kind error, texts ...string) {
	t.Helper()
	if err == nil || kind != nil && !errors.Is(err, kind) {
		t.Errorf("got %v, want %v", err, kind)
		return
	}
	for _, x := range texts {
		if !strings.Contains(err.Error(), x) {
			t.Errorf("%q does not say %q", err, x)
		}
	}
}

func TestRefusals(t *testing.T) {
	d := create(t)
	put(t, d, small(1))
	says(t, d.Put(t.Context(), small(1)), ErrExists, "trial 1")
	says(t, d.Put(t.Context(), small(0)), nil, "from 1 to")
	says(t, d.Put(t.Context(), small(maxSeq+1)), nil, "from 1 to")
	nan := small(2)
	nan.Values["tps"] = math.NaN()
	says(t, d.Put(t.Context(), nan), nil, "keep trial 2", "NaN")

	says(t, d.Same("other"), ErrChanged, "resume it without naming the plan", "new experiment")
	if err := d.Same("abc"); err != nil {
		t.Error(err)
	}
	var busy *BusyError
	_, err := Open(d.Path())
	says(t, err, ErrBusy, fmt.Sprintf("process %d", os.Getpid()))
	if !errors.As(err, &busy) || busy.PID != os.Getpid() {
		t.Errorf("%+v", busy)
	}
	_, err = Create(d.Path(), header())
	says(t, err, ErrBusy)
	d = reopen(t, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	says(t, d.Put(t.Context(), small(5)), errClosed)
	says(t, d.PutResult(trial.Result{}), errClosed)
	_, err = Create(d.Path(), header())
	says(t, err, ErrExists, "resume it")

	none := filepath.Join(t.TempDir(), "none")
	_, err = Open(none)
	says(t, err, ErrNotFound, none)
	if _, err := os.Stat(none); err == nil {
		t.Error("opening made the directory")
	}
	_, err = Read(none)
	says(t, err, ErrNotFound)
	h := header()
	h.ID = "../x"
	_, err = Create(none, h)
	says(t, err, nil, "id")
}

func TestNewerFormat(t *testing.T) {
	f := func(file, content, what string) {
		t.Helper()
		d := create(t)
		put(t, d, small(1))
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(d.Path(), file)
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if file != resultFile {
			_, err := Open(d.Path())
			says(t, err, ErrNewer, what, "format 2", "up to 1", "newer Dyno")
		}
		_, err := Read(d.Path())
		says(t, err, ErrNewer, what, file)
		if b, err := os.ReadFile(name); err != nil || string(b) != content {
			t.Errorf("%s was changed: %q, %v", file, b, err)
		}
	}
	f(headerFile, `{"dyno_experiment": 2, "id": ["another", "form"]}`, "the experiment")
	f(resultFile, `{"dyno_result": 2, "cells": 7}`, "the result")
	f("trials/00001.json", `{"dyno_trial": 2, "trial": 7}`, "the trial")
}

// TestDamage hurts a trial in all ways: it is named and laid aside, the others are there, and its number can be used
// again.
func TestDamage(t *testing.T) {
	f := func(name string, hurt func(b []byte) []byte) {
		t.Helper()
		d := create(t)
		put(t, d, small(1), small(2), small(3))
		file := filepath.Join(d.Path(), "trials", "00002.json")
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, hurt(b), 0o600); err != nil {
			t.Fatal(err)
		}
		k, err := Read(d.Path()) // changes nothing
		if err != nil || len(k.Warnings) != 1 || !strings.Contains(k.Warnings[0], "00002.json") {
			t.Errorf("%s: %q, %v", name, k.Warnings, err)
		}
		d = reopen(t, d)
		if ts := all(t, d); len(ts) != 2 || ts[0].Seq != 1 || ts[1].Seq != 3 {
			t.Errorf("%s: %d trials", name, len(ts))
		}
		if w := d.Warnings(); len(w) != 1 || !strings.Contains(w[0], "00002.json") ||
			!strings.Contains(w[0], "00002.json.bad") {
			t.Errorf("%s: warnings %q", name, w)
		}
		put(t, d, small(2))
		if err := os.WriteFile(file, nil, 0o600); err != nil { // once more
			t.Fatal(err)
		}
		d = reopen(t, d)
		if w := d.Warnings(); len(w) != 1 || !strings.Contains(w[0], "00002.json.bad2") {
			t.Errorf("%s: warnings %q", name, w)
		}
		d = reopen(t, d)
		if w := d.Warnings(); len(w) != 0 {
			t.Errorf("%s: %q said again", name, w)
		}
	}
	f("empty", func([]byte) []byte { return nil })
	f("cut", func(b []byte) []byte { return b[:len(b)/2] })
	f("zeros", func(b []byte) []byte { return make([]byte, len(b)) })
	f("another digit", func(b []byte) []byte { return []byte(strings.Replace(string(b), `"tps":2`, `"tps":3`, 1)) })
	f("another trial", func([]byte) []byte { b, _ := encode(small(9)); return b })
	f("no version", func(b []byte) []byte { return []byte(strings.Replace(string(b), `"dyno_trial":1,`, ``, 1)) })
	f("null", func([]byte) []byte { return []byte("null") })
}

// TestEveryBit flips each bit of a trial's file: none goes unnoticed, except in the white space.
func TestEveryBit(t *testing.T) {
	b, err := encode(small(2))
	if err != nil {
		t.Fatal(err)
	}
	want := small(2)
	for i := range b {
		for bit := range 8 {
			b[i] ^= 1 << bit
			if got, err := decode(b, "00002.json"); err == nil && diff(want, got) != "" {
				t.Errorf("bit %d of byte %d: %s", bit, i, diff(want, got))
			}
			b[i] ^= 1 << bit
		}
	}
}

func TestDamagedHeader(t *testing.T) {
	d := create(t)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, x := range []string{
		"", "{", "[]", "null", `{"dyno_experiment": "1"}`, `{"dyno_experiment": 0}`,
		`{"dyno_experiment": 1, "id": "../../etc"}`,
	} {
		if err := os.WriteFile(filepath.Join(d.Path(), headerFile), []byte(x), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(d.Path())
		says(t, err, ErrCorrupt, headerFile)
	}
}

// TestUnfinishedFile leaves what a kill in the middle of a write leaves.
func TestUnfinishedFile(t *testing.T) {
	d := create(t)
	put(t, d, small(1))
	for _, n := range []string{"result.json.tmp", "trials/00002.json.tmp"} {
		if err := os.WriteFile(filepath.Join(d.Path(), n), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d = reopen(t, d)
	put(t, d, small(2))
	if ts := all(t, d); len(ts) != 2 || len(d.Warnings()) > 0 {
		t.Errorf("%d trials, %q", len(ts), d.Warnings())
	}
	if left, _ := filepath.Glob(filepath.Join(d.Path(), "*", "*.tmp")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
