// Package app is the composition root: the only place where engines are plugged together.
package app
