// Package lazyregexp holds regular expressions that are compiled on first use. Dyno has many, and
// otherwise each start would compile all of them.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression in the syntax of package regexp. It is safe for concurrent use.
type Pattern struct{ compiled func() *regexp.Regexp }

// New returns a pattern. One that is wrong panics when it is first used: only for constants, which tests use.
func New(text string) *Pattern {
	return &Pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// The methods are those of regexp.Regexp.

func (p *Pattern) MatchString(s string) bool { return p.compiled().MatchString(s) }

func (p *Pattern) FindString(s string) string { return p.compiled().FindString(s) }

func (p *Pattern) FindStringIndex(s string) []int { return p.compiled().FindStringIndex(s) }

func (p *Pattern) FindStringSubmatch(s string) []string { return p.compiled().FindStringSubmatch(s) }

func (p *Pattern) FindStringSubmatchIndex(s string) []int {
	return p.compiled().FindStringSubmatchIndex(s)
}

func (p *Pattern) FindAllString(s string, n int) []string { return p.compiled().FindAllString(s, n) }

func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.compiled().FindAllStringSubmatch(s, n)
}

func (p *Pattern) ReplaceAllString(s, by string) string { return p.compiled().ReplaceAllString(s, by) }

func (p *Pattern) ReplaceAllStringFunc(s string, by func(string) string) string {
	return p.compiled().ReplaceAllStringFunc(s, by)
}

func (p *Pattern) FindSubmatch(b []byte) [][]byte { return p.compiled().FindSubmatch(b) }

func (p *Pattern) Match(b []byte) bool { return p.compiled().Match(b) }

func (p *Pattern) Find(b []byte) []byte           { return p.compiled().Find(b) }
func (p *Pattern) FindIndex(b []byte) []int       { return p.compiled().FindIndex(b) }
func (p *Pattern) ReplaceAll(b, by []byte) []byte { return p.compiled().ReplaceAll(b, by) }
func (p *Pattern) ReplaceAllLiteral(b, by []byte) []byte {
	return p.compiled().ReplaceAllLiteral(b, by)
}
