package sandbox

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"

	"dyno/internal/pattern"
)

// shortRunDir returns a new path for a run directory that is short. It lies where everybody can write, so its name cannot be
// guessed and making it fails if it is there.
func shortRunDir() (string, error) {
	var b [8]byte
	rand.Read(b[:])
	return "/tmp/dyno-" + hex.EncodeToString(b[:]), nil
}

var shortRun = pattern.New(`^/tmp/dyno-[0-9a-f]{16}$`)

// removeRunDir removes a run directory that lies outside its sandbox.
func removeRunDir(dir, run string) error {
	if filepath.Dir(run) == dir || !shortRun.MatchString(run) {
		return nil
	}
	return os.RemoveAll(run)
}
