// Package host reads this machine: /proc, processes and their identity, CPUs, memory, disks.
package host
