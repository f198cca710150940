// Package fault holds the real performance problems that Dyno can plant on a sandbox.
package fault
