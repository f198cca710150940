// Package load runs a workload on a target with closed-loop sessions, and reports a tick each
// second. It also prepares the workload's data, and replays logs. It does not define workloads;
// package workload does.
package load
