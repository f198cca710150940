// Package index turns symptoms and a snapshot into findings about indexes.
package index
