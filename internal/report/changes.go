package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/finding"
)

// oneLine keeps a text within the comment that it is written into: names may hold the ends of lines.
func oneLine(s string) string { return strings.NewReplacer("\n", "␊", "\r", "␍").Replace(s) }

// Changes returns what findings ask to be done as text for a shell or a file: statements first, then the lines for each
// file, with the finding that asks for it above. Findings without either are left out. Of changes that must not be made
// together the first is a statement and the others are comments, since the text may be run as a whole.
func Changes(findings []finding.Finding) string {
	var b strings.Builder
	made := map[string]bool{}
	for _, f := range findings {
		if f.Action != nil && f.Action.SQL != "" {
			if i := slices.IndexFunc(f.Excludes, func(id string) bool { return made[id] }); i >= 0 {
				fmt.Fprintf(&b, "-- %s: %s\n-- left out, because it must not be applied together with %s: %s;\n\n",
					f.ID, oneLine(f.Title), f.Excludes[i], oneLine(f.Action.SQL))
				continue
			}
			made[f.ID] = true
			fmt.Fprintf(&b, "-- %s: %s\n%s;\n", f.ID, oneLine(f.Title), f.Action.SQL)
			if f.Action.Undo != "" {
				fmt.Fprintf(&b, "-- undo: %s;\n", oneLine(f.Action.Undo))
			}
			b.WriteString("\n")
		}
	}
	for _, f := range findings {
		if len(f.Setting) == 0 {
			continue
		}
		file := f.File
		if file == "" {
			file = "my.cnf"
		}
		fmt.Fprintf(&b, "# %s, for %s: %s\n", f.ID, file, oneLine(f.Title))
		if f.Restart {
			b.WriteString("# needs a restart of the server\n")
		}
		b.WriteString(strings.Join(f.Setting, "\n") + "\n\n")
	}
	return b.String()
}
