package config

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Thresholds of small-log-buffer.
const (
	leastLogWaits = 0.2      // a second; a buffer of the right size has none
	leastBuffer   = 16 * mib // the default of MariaDB and of MySQL to 8.3
	mostBuffer    = 256 * mib
	longestWait   = 0.1 // seconds that a wait may take at most: some writes of the log, on a slow disk
	bufferSeconds = 2   // of log that the buffer should hold
)

// smallLogBuffer finds sessions that wait because the log buffer has no room for what they change.
func smallLogBuffer(v *advise.View) []finding.Finding {
	waits, ok := v.Status("Innodb_log_waits").Get()
	if !ok || waits < leastLogWaits {
		return nil
	}
	now, ok := number(v, "innodb_log_buffer_size")
	if !ok {
		return nil
	}
	rate, ok := v.Status("Innodb_os_log_written").Get()
	if !ok {
		return nil
	}
	want := min(max(round(uint64(bufferSeconds*rate)), leastBuffer, 4*now), mostBuffer)
	if want <= now {
		return nil // the log cannot be written as fast as it is made: no buffer helps against that
	}
	share, classes := writes(v)
	if all := load(v); all > 0 { // what was written did not wait for longer than the waits can have taken
		share = min(share, 2*longestWait*waits/all)
	}
	_, live := v.Variable("innodb_redo_log_capacity") // MySQL has both since 8.0
	live = live || !v.MariaDB() && v.AtLeast(8, 0, 11)
	f := finding.Finding{
		ID: finding.MakeID("small-log-buffer", "innodb_log_buffer_size"), Rule: "small-log-buffer",
		Confidence: finding.Certain, Severity: finding.Warning,
		Subject: finding.Subject{Variables: []string{"innodb_log_buffer_size"}, Classes: classes},
		Share:   share / 2, File: "my.cnf", Restart: !live,
		Title: fmt.Sprintf("sessions wait %s times a minute for room in the log buffer of %s",
			unit.Count(60*waits), bytes(now)),
		Cause: "What a transaction changes is logged in the buffer first. A large transaction, or many at a time, " +
			"fill it before it is written, and then they wait until it is.",
		Evidence: []finding.Evidence{
			fact("waits for the log buffer per second", waits, "1/s", fmt.Sprintf("< %.1f", leastLogWaits),
				source.GlobalStatus, "Sessions waited %s times a second (Innodb_log_waits).", unit.Count(waits)),
			fact("redo written per second", rate, "B/s", "", source.GlobalStatus,
				"%s/s of log are written, the buffer's "+
					"size every %s.", unit.Bytes(rate), unit.Seconds(float64(now)/max(1, rate))),
		},
		Falsify: "Disproved if Innodb_log_waits keeps growing with the larger buffer: then the disk writes the " +
			"log too slowly.",
		Reference: "MySQL Reference Manual, innodb_log_buffer_size and Innodb_log_waits; MariaDB Knowledge Base, " +
			"InnoDB Redo Log.",
		Setting: []string{"innodb_log_buffer_size = " + size(want)},
		Suggestion: fmt.Sprintf("Make the log buffer %s, %d seconds of what is logged now.",
			bytes(want), bufferSeconds),
		Cost:  fmt.Sprintf("%s of memory, once.", bytes(want-now)),
		Valid: "Dynamic in MySQL from 8.0.11 on; MariaDB and older MySQL need a restart.",
		Against: []string{"The larger buffer does not make the disk faster: log that is written at the commit " +
			"still has to be."},
		Why: []finding.Reason{
			{
				Ask: "Do sessions wait for the buffer?", Answer: fmt.Sprintf("%s times a second", unit.Count(waits)),
				Source: source.GlobalStatus,
			},
			{Ask: "How long does it last?", Answer: fmt.Sprintf("%s ÷ %s/s = %s", bytes(now), unit.Bytes(rate),
				unit.Seconds(float64(now)/max(1, rate))), Source: source.Arithmetic},
			{Ask: "How large should it be?", Answer: fmt.Sprintf("%d s × %s/s, at least %s and four times as much: %s",
				bufferSeconds, unit.Bytes(rate), bytes(leastBuffer), bytes(want)), Source: source.Arithmetic},
		},
		Gain: &finding.Gain{What: "time of writing statements", Lo: 1, Hi: 2, Text: "How long each wait took is not " +
			"counted; large transactions gain most."},
	}
	if live {
		f.Action = v.SetVariable("innodb_log_buffer_size", fmt.Sprint(want))
	} else {
		f.Suggestion += " It needs a restart."
	}
	return []finding.Finding{f}
}
