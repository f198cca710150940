// Package load runs a workload on a target with closed-loop sessions and reports a tick each second.
package load
