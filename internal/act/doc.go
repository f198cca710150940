// Package act carries out an action: preflight, apply, verify, journal; and takes it back.
package act
