package app

import (
	"fmt"
	"slices"
	"strings"

	"dyno/internal/diagnose"
	"dyno/internal/finding"
	"dyno/internal/report"
	"dyno/internal/snapshot"
	"dyno/internal/unit"
)

// Reasoning tells how a snapshot was judged: what was seen, what was out of order, which finding explains it and by which questions, what
// nothing explains, and what could not be seen.
func Reasoning(s *snapshot.Snapshot, symptoms []finding.Symptom, findings []finding.Finding) []report.Node {
	var calls uint64
	for _, c := range s.Classes {
		calls += c.Count
	}
	seen := report.Node{Text: fmt.Sprintf("Looked for %s: %s statements of %d classes, %s of statement time, %d tables, %d of %d sources gave what they should.",
		unit.Seconds(s.Seconds()), unit.Count(float64(calls)), len(s.Classes), unit.Seconds(s.TotalTime()), len(s.Tables), gave(s), len(s.Sources))}
	told := map[string]bool{}
	node := func(i int) report.Node {
		f := findings[i]
		n := report.Node{Text: fmt.Sprintf("Finding %d, %s: %s", i+1, f.ID, f.Title)}
		if told[f.ID] {
			return n
		}
		told[f.ID] = true
		for _, r := range f.Why {
			text := r.Ask + " " + r.Answer
			if r.Source != "" {
				text += " (" + r.Source + ")"
			}
			n.Then = append(n.Then, report.Node{Text: text})
		}
		for _, m := range f.Merged {
			n.Then = append(n.Then, report.Node{Text: "Its consequence, and no finding of its own: " + m})
		}
		return n
	}
	var out, blind []report.Node
	for _, x := range symptoms {
		if x.Kind == diagnose.NotObservable {
			blind = append(blind, report.Node{Text: x.Title})
			continue
		}
		n := report.Node{Text: "Out of order: " + x.Title + "."}
		for _, e := range x.Evidence {
			if e.Text != "" {
				n.Then = append(n.Then, report.Node{Text: e.Text})
			}
		}
		explained := false
		for i, f := range findings {
			if slices.Contains(f.Symptoms, x.ID) {
				n.Then, explained = append(n.Then, node(i)), true
			}
		}
		if !explained {
			n.Then = append(n.Then, report.Node{Text: "No rule names a cause for it by itself."})
		}
		out = append(out, n)
	}
	for i, f := range findings {
		if !told[f.ID] {
			out = append(out, node(i))
		}
	}
	if len(out) == 0 {
		out = append(out, report.Node{Text: "Nothing was out of order."})
	}
	if len(blind) > 0 {
		out = append(out, report.Node{Text: "Could not be seen, and is not called healthy for that:", Then: blind})
	}
	seen.Then = out
	return []report.Node{seen}
}

// gave counts the sources that gave what they should.
func gave(s *snapshot.Snapshot) (n int) {
	for _, x := range s.Sources {
		if x.State == snapshot.OK {
			n++
		}
	}
	return n
}

// oneLine keeps a text within the comment that it is written into: names may hold the ends of lines.
func oneLine(s string) string { return strings.NewReplacer("\n", "␊", "\r", "␍").Replace(s) }

// Changes returns what findings ask to be done as text for a shell or a file: statements first, then the lines for each file, with the
// finding that asks for it above. Findings without either are left out. Of changes that must not be made together the first is a statement
// and the others are comments, since the text may be run as a whole.
func Changes(findings []finding.Finding) string {
	var b strings.Builder
	made := map[string]bool{}
	for _, f := range findings {
		if f.Action != nil && f.Action.SQL != "" {
			if i := slices.IndexFunc(f.Excludes, func(id string) bool { return made[id] }); i >= 0 {
				fmt.Fprintf(&b, "-- %s: %s\n-- left out, because it must not be made together with %s: %s;\n\n", f.ID, oneLine(f.Title), f.Excludes[i], oneLine(f.Action.SQL))
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
			b.WriteString("# it takes a restart of the server\n")
		}
		b.WriteString(strings.Join(f.Setting, "\n") + "\n\n")
	}
	return b.String()
}
