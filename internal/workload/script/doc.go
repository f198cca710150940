// Package script turns SQL files into workloads: statements as a user types them, with parameters,
// weights and transactions. It reads no files and knows no server. docs/load-script.md is the
// reference of the language.
package script
