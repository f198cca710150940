// Package workload declares what a load runs: tables, rows and operations as values, without a connection.
package workload
