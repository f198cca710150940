// Package sandbox starts and ends private servers: own data directory, socket and limits.
package sandbox
