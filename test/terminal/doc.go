// Package terminal runs a program in a pseudo-terminal and tells what its user sees.
package terminal
