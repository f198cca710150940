// Package compare judges the trials of an experiment: pure functions from a plan and its trials to cells, verdicts and what is to be
// said of them in words. How it decides, and what error rates that has, is told by package stat.
package compare
