package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"

	"dyno/internal/digest"
)

//go:embed digestcomparison.html
var digestComparisonText string

// comparedPage is what the template draws.
type comparedPage struct {
	Policy                       string
	CSS                          template.CSS
	At                           string
	Result, Symbol, Class, Terms string
	Reasons, Notes               []string
	Unclear                      [][2]string
	Footer                       string
	*comparedView
}

// DigestComparisonHTML writes a comparison of two digests as one page that needs nothing else and asks nothing of the network.
func DigestComparisonHTML(w io.Writer, c *digest.Comparison, o DigestOptions) error {
	t, err := template.New("page").Funcs(template.FuncMap{"offset": func(time.Time) string { return "" }}).Parse(pageText)
	if err == nil { // for the tables that all pages share
		t, err = t.New("digest").Parse(digestComparisonText)
	}
	if err != nil {
		return fmt.Errorf("BUG: parse the page's template: %w", err)
	}
	css := pageCSS + digestCSS
	v := newComparedView(c)
	p := &comparedPage{
		Policy: "default-src 'none'; style-src " + source(css) + "; base-uri 'none'; form-action 'none'",
		CSS:    template.CSS(css), // both are ours and constant
		Class:  resultClass(c.Result), Terms: v.terms() + ". " + impactNote, Reasons: v.c.Reasons, Notes: v.c.Notes, Unclear: v.unclear(),
		Footer: digestFooter(o), comparedView: v,
	}
	p.Symbol, p.Result = v.head()
	if !o.At.IsZero() {
		p.At = stamp(o.At) + " UTC"
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return fmt.Errorf("render comparison: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}
