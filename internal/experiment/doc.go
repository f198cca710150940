// Package experiment carries out a plan: rounds of trials in random order, each on record before the next begins, until every
// comparison is decided or the plan ends. It declares what it needs, a Bench that runs trials and a Recorder that keeps them, and
// asks package compare for every judgement.
//
// Each round runs every open variant once and one baseline once more. A variant is paired with its baseline of the same round, so
// that whatever drifts slower than a round hits both alike; the second trial of the baseline is the control, the comparison of a
// server with itself. Rounds, not seconds, are the samples. How often and with what confidence the pairs are looked at is decided
// before the first trial: who looks whenever he likes, and stops when it looks good, finds differences that are none.
//
// Where the plan has turns, the trials of a round run together: a Weaver lets them take turns under one load. The round is still the sample.
package experiment
