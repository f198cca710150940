// Package fault holds the real performance problems that Dyno can plant on a private server, and
// the healthy controls in which it must find nothing. They serve the demo, training, and
// measurements of how well Dyno finds problems. No package that diagnoses a server can import it.
//
// A fault is data: tables, a workload on them, settings of the server, and the right diagnosis. No
// rule may know a name that appears here: with a names seed, every schema, table and column has
// another name.
package fault
