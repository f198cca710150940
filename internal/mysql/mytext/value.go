package mytext

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

// Literal writes a string as MySQL and MariaDB read it, in single quotes. It is right under the default sql_mode; under
// NO_BACKSLASH_ESCAPES a backslash would come out twice.
func Literal(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`, "\x00", `\0`).Replace(s) + "'"
}

var plainNumber = lazyregexp.New(`^-?[0-9]+(\.[0-9]+)?$`)

// SetGlobal returns the statement that gives a global variable a value: numbers as they are, everything else as a
// string, which servers take for switches and enumerations too. The name is the caller's to check.
func SetGlobal(name, value string) string {
	if !plainNumber.MatchString(value) {
		value = Literal(value)
	}
	return "SET GLOBAL " + name + " = " + value
}
