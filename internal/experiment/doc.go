// Package experiment measures variants against each other in alternating windows and gives a verdict.
package experiment
