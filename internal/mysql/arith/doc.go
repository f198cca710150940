// Package arith computes what a server makes of a requested size, such as the actual size of the
// buffer pool. It does no I/O.
package arith
