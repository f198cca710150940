// Package platform is what Dyno asks of an operating system and each system answers in its own way: locks of files,
// owners, space, the CPU time of this process, and groups of processes.
package platform

import (
	"errors"
	"time"
)

// ErrLocked says that another process holds the lock.
var ErrLocked = errors.New("another process holds the lock")

// File is what a system keeps about a file.
type File struct {
	UID, GID      int    // its owner and group, -1 when they are not known
	Device, Inode uint64 // together they tell it from all others that exist on this machine at the same time
	Links         uint64 // its names
	Bytes         int64  // what it takes on the disk
}

// OwnCPU returns the CPU time that this process has used so far, in user and in system mode together, and 0 when it
// cannot be told.
func OwnCPU() time.Duration {
	user, system, _ := CPU()
	return user + system
}
