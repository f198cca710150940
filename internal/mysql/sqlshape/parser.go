package sqlshape

import (
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/shape"
)

// Parser is this package as the value that judgement asks. It reads the spelling of class.Class.Text, whatever family
// of servers the class ran on.
type Parser struct{}

// Parse is the function of that name.
func (Parser) Parse(sql string) (shape.Shape, error) { return Parse(sql) }

// Compared is the function of that name.
func (Parser) Compared(sql string) (shape.Shape, []shape.Comparison, error) { return Compared(sql) }

// Touches is the function of that name.
func (Parser) Touches(sql string) ([]shape.TableRef, error) { return Touches(sql) }

// Hinted is the function of that name.
func (Parser) Hinted(sql string) []string { return Hinted(sql) }

// Fingerprint is mytext.Fingerprint.
func (Parser) Fingerprint(sql string) string { return mytext.Fingerprint(sql) }
