//go:build !linux

package target

import "context"

// LocalPID is never ok here: telling the server's process for sure needs Linux.
func (t *Target) LocalPID(context.Context) (pid int, ok bool) { return 0, false }
