// Package arith holds the arithmetic of servers: what a size asked for becomes.
package arith
