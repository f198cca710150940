// Package fault holds the real performance problems that Dyno can plant on a private server, and the healthy controls in which it
// must find nothing.
//
// A fault is data: tables, a workload on them, settings of the server, and what a right diagnosis says. It is for the demo, for
// training and for measuring how well Dyno finds. Nothing that judges a server can import it, and no rule may know a name that
// stands here: with a names-seed every schema, table and column has another name.
package fault
