package exposition

import (
	"strconv"
	"strings"
)

// Format is a text format.
type Format uint8

const (
	// Text is Prometheus' text format 0.0.4.
	Text Format = iota
	// OpenMetrics is OpenMetrics 1.0.0.
	OpenMetrics
)

// ContentType returns what the header Content-Type says of the format.
func (f Format) ContentType() string {
	if f == OpenMetrics {
		return "application/openmetrics-text; version=1.0.0; charset=utf-8"
	}
	return "text/plain; version=0.0.4; charset=utf-8"
}

// Negotiate chooses the format that the header Accept of a request prefers; Text when it asks for neither.
func Negotiate(accept string) Format {
	best, text := 0.0, 0.0
	for part := range strings.SplitSeq(accept, ",") {
		fields := strings.Split(part, ";")
		q, version := 1.0, ""
		for _, p := range fields[1:] {
			k, v, _ := strings.Cut(strings.TrimSpace(p), "=")
			switch strings.ToLower(k) {
			case "q":
				if x, err := strconv.ParseFloat(v, 64); err == nil {
					q = x
				}
			case "version":
				version = strings.Trim(v, `"`)
			}
		}
		switch strings.ToLower(strings.TrimSpace(fields[0])) {
		case "application/openmetrics-text":
			if version == "" || version == "1.0.0" || version == "0.0.1" { // 0.0.1 was the draft of 1.0.0
				best = max(best, q)
			}
		case "text/plain":
			if version == "" || version == "0.0.4" {
				text = max(text, q)
			}
		}
	}
	if best > 0 && best >= text {
		return OpenMetrics
	}
	return Text
}
