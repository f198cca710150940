// Package cli is the command line: one file per verb.
package cli
