// Package digest holds what is known of the statements of logs or of a server's window by class: the
// Report, the value behind every form of output, with its order and limits, and the Comparison of
// two reports. Packages of a family of servers count the statements.
package digest
