// Package script makes workloads of SQL files: statements as one types them, with parameters, weights and transactions. It reads no
// files and knows no server; docs/load-script.md is the reference of the language.
package script
