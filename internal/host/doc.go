// Package host reads this machine: /proc, processes and their identity, CPUs, memory and disks. It
// gives plain values to scrapers, sandboxes and targets. It reads no other machine.
package host
