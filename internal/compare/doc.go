// Package compare evaluates the trials of an experiment. Its pure functions turn a plan and its
// trials into cells, verdicts and remarks in words. Package stat documents how it decides and with
// which error rates. It runs no trial.
package compare
