package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dyno-perf/dyno/internal/platform"
)

// newManCommand writes the manual pages of all verbs. It is for packages, so the help does not list it.
func newManCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "write the manual pages of all verbs into a directory", Hidden: true, Args: args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if err := os.MkdirAll(a[0], 0o755); err != nil {
				return err
			}
			n, err := manPages(e, c.Root(), a[0])
			if err == nil {
				e.remark("%d pages in %s. Read one: man %s", n, a[0], filepath.Join(a[0], "dyno.1"))
			}
			return err
		},
	}
}

// manPages writes the page of a verb and those of the verbs below it, and returns how many there are.
func manPages(e *env, c *cobra.Command, dir string) (n int, err error) {
	var b strings.Builder
	manPage(&b, c, e.app.Version)
	f, err := os.OpenFile(filepath.Join(dir, manName(c)+".1"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|platform.NoFollow|
		platform.NonBlock, 0o644) // neither a link nor a pipe of whoever may write there
	if err != nil {
		return 0, err
	}
	_, err = f.WriteString(b.String())
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	n = 1
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			m, err := manPages(e, sub, dir)
			if n += m; err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage writes what --help prints, in the language of man(7).
func manPage(w io.Writer, c *cobra.Command, version string) {
	c.InitDefaultHelpFlag()
	fmt.Fprintf(w, ".TH %s 1 \"\" \"dyno %s\" \"Dyno\"\n", strings.ToUpper(roff(manName(c))), roff(version))
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", roff(manName(c)), roff(c.Short))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	fmt.Fprintf(w, ".SH DESCRIPTION\n%s", roffText(cmp.Or(c.Long, c.Short)))
	if c.HasAvailableSubCommands() {
		fmt.Fprint(w, ".SH COMMANDS\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(w, ".TP\n.BR %s (1)\n%s\n", roff(manName(sub)), roff(sub.Short))
			}
		}
	}
	manFlags(w, "OPTIONS", c.NonInheritedFlags())
	manFlags(w, "GLOBAL OPTIONS", c.InheritedFlags())
	if c.Example != "" {
		fmt.Fprintf(w, ".SH EXAMPLES\n%s", roffText(c.Example))
	}
	if c.HasParent() {
		fmt.Fprintf(w, ".SH SEE ALSO\n.BR %s (1)\n", roff(manName(c.Parent())))
	}
}

func manFlags(w io.Writer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(w, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value != "" {
			value = " \\fI" + roff(value) + "\\fR"
		}
		switch f.DefValue {
		case "", "0", "0s", "false", "[]":
		default:
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(w, ".TP\n\\fB%s\\fR%s\n%s\n", roff(name), value, roff(usage))
	})
}

// roffText writes paragraphs. Indented lines stay as they are.
func roffText(text string) string {
	var b strings.Builder
	kept := false
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		if keep := strings.HasPrefix(line, " "); keep != kept {
			b.WriteString(map[bool]string{true: ".PP\n.nf\n", false: ".fi\n"}[keep])
			kept = keep
		}
		if line == "" {
			line = ".PP"
		} else {
			line = roff(line)
		}
		b.WriteString(line + "\n")
	}
	if kept {
		b.WriteString(".fi\n")
	}
	return b.String()
}

// roff makes a line that a formatter shows as it is.
func roff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}
