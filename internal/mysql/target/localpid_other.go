//go:build !linux

package target

import (
	"context"
	"errors"
	"os"
)

// ErrElsewhere says that a server does not surely run on this machine, so that the files it names are not looked for
// here.
var ErrElsewhere = errors.New("identifying the server's process needs Linux")

type process struct{}

// LocalPID is never ok here: telling the server's process for sure needs Linux.
func (t *Target) LocalPID(context.Context) (pid int, ok bool) { return 0, false }

// OpenFile is always ErrElsewhere here.
func (t *Target) OpenFile(context.Context, string) (*os.File, error) { return nil, ErrElsewhere }

// OpenDir is always ErrElsewhere here.
func (t *Target) OpenDir(context.Context, string) (*os.Root, error) { return nil, ErrElsewhere }
