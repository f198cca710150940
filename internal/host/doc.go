// Package host reads this machine: /proc, processes and their identity, CPUs, memory and disks. It
// returns plain values. It reads no other machine.
package host
