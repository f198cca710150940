// Package load runs a workload on a server of any family with closed-loop sessions or at a rate, and
// reports a tick each second. It also runs commands as a load, and replays logs. What it asks of a family
// is in server.go and replay_log.go; it does not define workloads, package workload does.
package load
