// Package capture does all I/O that judgement needs and returns one snapshot.
package capture
