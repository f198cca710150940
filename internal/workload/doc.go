// Package workload describes what a load runs: tables, statements and, for each session, the endless row of operations that a
// Generator deals out. It does no I/O; package load carries a workload out.
//
// The OLTP family follows sysbench 1.0.20 (https://github.com/akopytov/sysbench): the same tables, statements, option names,
// defaults and distributions, so that figures and data can be compared with those of earlier years.
package workload
