package main

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

func TestOutletStopsWhenNobodyReads(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	left := 0
	o := out(w, func() { left++ })
	if n, err := o.Write([]byte("one")); n != 3 || err != nil || left != 0 {
		t.Fatalf("%d bytes, %v, left %d times", n, err, left)
	}
	r.Close()
	if _, err := o.Write([]byte("two")); !errors.Is(err, syscall.EPIPE) || left != 1 {
		t.Errorf("a pipe that nobody reads: %v, left %d times", err, left)
	}
}
