package plan

import (
	"strconv"
	"strings"

	"dyno/internal/near"
)

// nearest returns the name that is most like the given one, "" when none is like it.
func nearest(name string, names []string) string { return near.Name(name, names, len(name)/2+1) }

// hintOf returns the hint for an unknown name: the nearest, or else all there are when these are few.
func hintOf(name string, names []string) string {
	if n := nearest(name, names); n != "" {
		return meant + strconv.Quote(n) + "?"
	}
	if len(names) > 0 && len(names) <= 12 {
		return "there is " + strings.Join(names, ", ")
	}
	return ""
}
