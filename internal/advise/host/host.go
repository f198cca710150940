// Package host holds the rules for the machine and its kernel. They turn symptoms and a snapshot
// into findings. They do not read the machine themselves; the snapshot contains what internal/host
// has read.
package host
