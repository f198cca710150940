package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode"
	"unicode/utf8"
)

// JSON writes the document in its stable form, indented, with a newline at the end. It is what Decode reads. Characters
// that cannot be seen are written as \u escapes, so that a terminal may show the file.
func JSON(w io.Writer, d *Document) error {
	b, err := Encode(d)
	if err != nil {
		return err
	}
	return written(w, string(b), "report")
}

// Encode returns what JSON writes: the same document always gives the same bytes.
func Encode(d *Document) ([]byte, error) {
	c := finite(d)
	c.Format = Format
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode report %s: %w", d.ID, err)
	}
	return append(escapeUnseen(b), '\n'), nil
}

// Decode reads what JSON wrote. A document of another format is an error.
func Decode(b []byte) (*Document, error) {
	d := new(Document)
	if err := json.Unmarshal(b, d); err != nil {
		return nil, fmt.Errorf("decode report: %w", err)
	}
	if d.Format != Format {
		return nil, fmt.Errorf("decode report: dyno_report is %d, this program reads %d", d.Format, Format)
	}
	return d, nil
}

// escapeUnseen rewrites the characters that are not printable as \u escapes. In valid JSON they stand within strings
// only, but for line ends and spaces.
func escapeUnseen(b []byte) []byte {
	if !slices.ContainsFunc(b, func(c byte) bool { return c != '\n' && (c < ' ' || c > '~') }) {
		return b
	}
	var out bytes.Buffer
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r == '\n' || unicode.IsPrint(r):
			out.Write(b[i : i+n])
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		i += n
	}
	return out.Bytes()
}
