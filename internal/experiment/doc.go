// Package experiment executes a plan: rounds of trials in random order, each stored before the next
// begins, until every comparison is decided or the plan ends. It declares the two interfaces that
// it needs, a Bench that runs trials and a Recorder that stores them. Package compare makes every
// decision.
//
// Each round runs every undecided variant once, and one baseline a second time. A variant is paired
// with its baseline of the same round, so that any drift slower than a round affects both equally.
// The second trial of the baseline is the control, the comparison of a server with itself. Rounds,
// not seconds, are the samples. The number of evaluations and their confidence are fixed before the
// first trial: an experiment that is evaluated at any time, and stopped when it looks good, finds
// differences that do not exist.
//
// If the plan has turns, the trials of a round run together: a Weaver interleaves them under one
// load. The round is still the sample.
package experiment
