package sources

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// settings reads pg_settings. As in postgres_exporter, pg_settings_<name> is a number or a switch, in bytes
// (pg_settings_shared_buffers_bytes) or seconds (pg_settings_checkpoint_timeout_seconds) where it has a unit; -1 stays
// -1. Besides there are
//
//	pg_static{version,short_version} 1
//	dyno_settings_pending_restart      how many differ from the configuration files until the server is restarted
//
// Values are those that Dyno's sessions would have without what Dyno sets in them (reset_val): the server's, unless the
// database or the account has its own by ALTER ROLE or ALTER DATABASE. Some are shown to members of
// pg_read_all_settings only; that is a remark, and those have no series. A setting that has changed since the reading
// before is an event; when another server answers at the address, that is one.
// https://www.postgresql.org/docs/current/view-pg-settings.html
type settings struct {
	q     querier
	facts conn.Facts
	sql   string
	names map[string]string // series by name and unit
	last  map[string]string
	id    string // of the server that was read
	news  []event.Event
}

func newSettings(q querier, f conn.Facts) *settings {
	return &settings{
		q: q, facts: f, names: map[string]string{}, sql: settingsOf("system_identifier FROM pg_control_system()"),
	}
}

// settingsOf returns the statement that reads the settings. What tells servers apart is asked in the same statement:
// behind a balancer another server may answer the next one.
func settingsOf(id string) string {
	return tagged(source.Variables, "SELECT lower(name), coalesce(reset_val, setting, ''), coalesce(unit, ''), "+
		"vartype, pending_restart, current_setting('server_version') || ' on port ' || current_setting('port') || "+
		"', ' || (SELECT "+id+") FROM pg_settings")
}

// standIn is the identifier of servers on which pg_control_system may not be called, as hosted ones may have it.
const standIn = "'database ' || oid FROM pg_database WHERE datname = current_database()"

func (s *settings) Name() source.Name { return source.Variables }

// mostSettings is several times what any server has.
const mostSettings = 5000

// longestSetting bounds the text that is kept of a setting, bytes.
const longestSetting = 4 << 10

func (s *settings) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	err := s.read(ctx, at, emit)
	if code, _ := conn.SQLState(err); code == "42501" && s.sql != settingsOf(standIn) {
		s.sql, s.last = settingsOf(standIn), nil // nothing was read yet
		err = s.read(ctx, at, emit)
	}
	return classify(s.facts, err)
}

func (s *settings) read(ctx context.Context, at int64, emit func(metric.Sample)) error {
	now := make(map[string]string, len(s.last))
	pending, id := 0, ""
	_, err := s.q.Query(ctx, s.sql, func(r pgx.Rows) error {
		var name, value, unit, kind, server string
		var restart bool
		if err := r.Scan(&name, &value, &unit, &kind, &restart, &server); err != nil {
			return err
		}
		if len(now) >= mostSettings {
			return nil
		}
		if id = server; restart {
			pending++
		}
		now[name] = state.Clip(value, longestSetting)
		v, base, ok := settingValue(value, unit, kind)
		if !ok {
			return nil
		}
		key := name + " " + base
		series, ok := s.names[key]
		if !ok {
			if len(s.names) > 2*mostSettings {
				clear(s.names)
			}
			series = metricName(name)
			if base != "" {
				series += "_" + base
			}
			s.names[key] = series
		}
		emit(metric.Sample{Name: series, At: at, Value: v})
		return nil
	})
	if err != nil {
		return err
	}
	emit(metric.Sample{Name: "dyno_settings_pending_restart", At: at, Value: float64(pending)})
	emit(metric.Sample{
		Name: "pg_static", At: at, Value: 1,
		Labels: metric.L("version", clean(s.facts.Raw), "short_version", clean(now["server_version"])),
	})
	if s.last != nil {
		s.news = append(s.news, changes(s.last, now, s.id, id, time.UnixMilli(at).UTC())...)
	}
	s.last, s.id = now, id
	return nil
}

// Events returns the changes since the last call.
func (s *settings) Events() []event.Event {
	e := s.news
	s.news = nil
	return e
}

// metricName makes a setting's name fit for Prometheus: those of extensions have a dot.
func metricName(name string) string {
	return "pg_settings_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}

// settingValue reads a number or a switch, in the base unit.
func settingValue(text, unit, kind string) (v float64, base string, ok bool) {
	switch kind {
	case "bool":
		if text == "on" {
			return 1, "", true
		}
		return 0, "", text == "off"
	case "integer", "real":
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, "", false
		}
		base, scale := baseUnit(unit)
		if v != -1 { // it stands for none, or for that of another setting
			v *= scale
		}
		return v, base, true
	}
	return 0, "", false
}

// baseUnit returns the base unit and how many of it a unit of pg_settings is ("8kB" too, the size of a block).
func baseUnit(unit string) (base string, scale float64) {
	digits := len(unit) - len(strings.TrimLeft(unit, "0123456789"))
	scale = 1
	if n, err := strconv.ParseFloat(unit[:digits], 64); err == nil {
		scale = n
	}
	switch unit[digits:] {
	case "B":
		return "bytes", scale
	case "kB":
		return "bytes", scale * (1 << 10)
	case "MB":
		return "bytes", scale * (1 << 20)
	case "GB":
		return "bytes", scale * (1 << 30)
	case "TB":
		return "bytes", scale * (1 << 40)
	case "us":
		return "seconds", scale / 1e6
	case "ms":
		return "seconds", scale / 1e3
	case "s":
		return "seconds", scale
	case "min":
		return "seconds", scale * 60
	case "h":
		return "seconds", scale * 3600
	case "d":
		return "seconds", scale * 86400
	}
	return "", 1
}

// maxChanges bounds the events of one reading.
const maxChanges = 50

// changes reports how two readings of the settings differ. Those of another server are no news.
func changes(old, now map[string]string, was, is string, at time.Time) (out []event.Event) {
	_, wasServer, _ := strings.Cut(was, " on ")
	_, isServer, _ := strings.Cut(is, " on ")
	if wasServer != isServer {
		return []event.Event{{
			At: at, Kind: event.Restart,
			Text: event.AnotherServer + " answers: " + shown(is) + " instead of " + shown(was),
		}}
	}
	names := slices.Sorted(maps.Keys(old))
	for n := range now {
		if _, had := old[n]; !had {
			names = append(names, n)
		}
	}
	for _, name := range names {
		a, had := old[name]
		b, has := now[name]
		if a == b && had == has || moves(name) {
			continue
		}
		text := fmt.Sprintf("%s %s → %s", name, shown(a), shown(b))
		switch {
		case Secret(name):
			text = name + " changed (its value may hold a password and is not shown)"
		case !had:
			text = fmt.Sprintf("%s is new: %s", name, shown(b))
		case !has:
			text = fmt.Sprintf("%s is gone, it was %s", name, shown(a))
		}
		out = append(out, event.Event{At: at, Kind: event.Config, Text: text})
	}
	if n := len(out) - maxChanges; n > 0 {
		out = append(out[:maxChanges], event.Event{
			At: at, Kind: event.Config, Text: fmt.Sprintf("%d more settings changed", n),
		})
	}
	return out
}

// moves reports whether a setting changes by itself.
func moves(name string) bool {
	switch name {
	case "application_name", "client_encoding", "in_hot_standby", "transaction_isolation", "transaction_read_only",
		"transaction_deferrable", "seed", "wal_consistency_checking", "session_authorization", "role":
		return true
	}
	return false
}

var secretName = lazyregexp.New(`password|passwd|passphrase|secret|token|conninfo|_command|api_?key`)

// Secret reports whether a setting, its name in small letters, may hold a password, a key, or a command with one in it.
func Secret(name string) bool {
	_, option, _ := strings.Cut(name, ".") // of an extension or an application
	return name != "password_encryption" && secretName.MatchString(name) || strings.Contains(option, "key")
}

// shown makes a value fit for one line.
func shown(v string) string {
	v = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(v, "?"))
	if r := []rune(v); len(r) > 100 {
		v = string(r[:99]) + "…"
	}
	if v == "" {
		return "''"
	}
	return v
}
