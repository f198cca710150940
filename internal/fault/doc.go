// Package fault says what a fault is, of which family of servers it may be: a real performance problem that Dyno can
// plant on a private server, or a healthy control in which it must find nothing. Faults serve the demo, training, and
// measurements of how well Dyno finds problems; each family has its own. No package that diagnoses a server can import
// this one or theirs.
//
// A fault is data: tables, a workload on them, settings of the server, and the right diagnosis. No
// rule may know a name that appears here: with a names seed, every schema, table and column has
// another name.
package fault
