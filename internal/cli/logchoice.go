package cli

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/digest"
)

// logChoice is which statements of logs count, as flags say it.
type logChoice struct{ filter, since, until string }

// flags adds the flags; does is what is done with the statements.
func (l *logChoice) flags(f *pflag.FlagSet, does string) {
	f.StringVar(&l.filter, "filter", "", does+
		` only statements for which this holds: 'Query_time > 1 && user != "backup"'`)
	f.StringVar(&l.since, "since", "", "start time: "+momentForms)
	f.StringVar(&l.until, "until", "", "end time, exclusive, in the same form")
}

// into puts the choice into a configuration; the filter is nil without one.
func (l *logChoice) into(c *digest.Config, now time.Time) (chosen digest.Filter, err error) {
	if l.filter != "" {
		if chosen, err = app.ParseFilter(l.filter); err != nil {
			return nil, usagef("--filter: %v", err)
		}
		c.Filter = chosen
	}
	for _, b := range []struct {
		name, text string
		to         *int64
	}{{"--since", l.since, &c.Since}, {"--until", l.until, &c.Until}} {
		if b.text == "" {
			continue
		}
		at, err := parseMoment(b.text, now)
		if err != nil {
			return nil, usagef("%s %s: %v", b.name, b.text, err)
		}
		*b.to = at.UnixMicro()
	}
	if c.Since != 0 && c.Until != 0 && c.Since >= c.Until {
		return nil, usagef("--since %s is not before --until %s", l.since, l.until)
	}
	return chosen, nil
}
