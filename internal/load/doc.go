// Package load runs a workload on a target with closed-loop sessions, and reports a tick each
// second. It also prepares the workload's data, and replays logs. Packages app, cli, stand and
// fault start it. It does not define workloads; package workload does.
package load
