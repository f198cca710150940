package cli

import (
	"fmt"
	"strings"
)

// listed is list under a line of headings, which is of people's output alone.
func listed[T any](e *env, heads string, all []T, line func(T) string, none string) error {
	if len(all) > 0 && !e.json() && !e.quiet {
		if _, err := fmt.Fprintln(e.Out, heads); err != nil {
			return err
		}
	}
	return list(e, all, line, none)
}

// list prints values one a line: as JSON, or as line says. When there are none, people are told none and JSON is empty.
func list[T any](e *env, all []T, line func(T) string, none string) error {
	for _, x := range all {
		if e.json() {
			if err := e.writeJSON(x); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintln(e.Out, strings.TrimRight(line(x), " ")); err != nil {
			return err
		}
	}
	if len(all) == 0 && !e.json() && none != "" {
		e.remark("%s", none)
	}
	return nil
}
