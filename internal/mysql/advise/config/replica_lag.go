package config

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	// leastLag in seconds is more than the servers' whole seconds and a moment of writing in bulk explain.
	leastLag = 3.0
	// lagGrowth is how much the lag must grow each second for the replica to be called too slow.
	lagGrowth = 0.1
	// clearGrowth is by how many seconds the lag must grow in the window: servers tell whole seconds, so that a growth
	// of one or two is rounding.
	clearGrowth = 3.0
	// longLag is one that is told also while it stays as it is.
	longLag = 60.0
	// badLag is one that a job of some seconds at the source does not explain.
	badLag = 10.0
	// catchingUp is how fast a lag must shrink, seconds a second, to be left alone.
	catchingUp = -0.2
	// appliers is what is suggested for a start; more of them wait for each other more than they help on most replicas.
	appliers = 8
)

// replicaLag finds channels whose applier does less than their source writes.
func replicaLag(v *advise.View) (out []finding.Finding) {
	for _, x := range v.All("dyno_replica_lag_seconds") {
		if f, ok := laggard(v, x); ok {
			out = append(out, f)
		}
	}
	return out
}

func laggard(v *advise.View, x metric.Series) (f finding.Finding, ok bool) {
	name := x.Labels.Get("channel")
	channel := metric.Label{Name: "channel", Value: name}
	if on, ok := v.Last("dyno_replica_running", channel, metric.Label{Name: "thread", Value: "sql"}).Get(); ok &&
		on == 0 {
		return f, false // it stands: that is an error to read, not a lag to tune
	}
	if len(x.Points) == 0 {
		return f, false
	}
	first, last := x.Points[0], x.Points[len(x.Points)-1]
	lag := last.Value - delay(v, name)
	slope, sloped := 0.0, false
	if d := float64(last.At-first.At) / 1000; d >= 2 {
		slope, sloped = (last.Value-first.Value)/d, true
	}
	grows := sloped && slope >= lagGrowth && last.Value-first.Value >= clearGrowth
	if lag < leastLag || sloped && slope <= catchingUp || !grows && lag < longLag {
		return f, false
	}
	workers, setting := parallel(v)
	f = finding.Finding{
		Rule: "replica-lag", ID: finding.MakeID("replica-lag", name), Severity: finding.Warning,
		Confidence: finding.Likely,
		Title:      fmt.Sprintf("the replica lags by %s", unit.Seconds(lag)),
		Cause:      "It applies less than its source writes.",
		Falsify:    "Disproved if the lag grows as fast with several appliers running.",
		Explains:   []string{advise.EffectReplicaLag},
	}
	if name != "" {
		f.Title = fmt.Sprintf("channel %s lags by %s", name, unit.Seconds(lag))
	}
	if grows {
		f.Title += fmt.Sprintf(", and the lag grows by %s each second", unit.Seconds(slope))
	}
	f.Evidence = []finding.Evidence{{
		What: "lag", Value: known.Of(lag), Unit: "s", Expected: "< " + about(leastLag), Source: source.Replication,
		Text: fmt.Sprintf("The replica lagged by %s at the end of the window, by %s at its beginning.",
			unit.Seconds(last.Value), unit.Seconds(first.Value)),
	}}
	read, ok1 := position(v, name, "read")
	done, ok2 := position(v, name, "exec")
	if ok1 && ok2 && read > 0 && done >= 0 {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "log applied for each byte received", Value: known.Of(done / read),
			Expected: "≥ 1", Source: source.Replication,
			Text: fmt.Sprintf("It received %s/s of its source's log and applied %s/s.",
				unit.Bytes(read), unit.Bytes(done)),
		})
		if done > 0 && done < read {
			f.Gain = &finding.Gain{
				What: "log applied a second", Lo: 1, Hi: max(1.2, min(float64(max(2, workersWanted(v))), read/done)),
				Text: fmt.Sprintf("It has to apply %s times as much to keep up. Parallel appliers gain by sharing "+
					"syncs and waits; more CPUs help only as far as they are free.", unit.Ratio(read/done)),
			}
		}
	}
	if bytes, ok := v.Last("dyno_replica_unapplied_bytes", channel).Get(); ok {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "received and not applied", Value: known.Of(bytes), Unit: "B", Source: source.Replication,
			Text: fmt.Sprintf("%s of log wait to be applied.", unit.Bytes(bytes)),
		})
	}
	if setting == "" {
		f.Confidence = finding.Possible
		f.Suggestion = "Find out what the applier does: its state in the process list, and the largest transactions " +
			"of the source."
		return f, true
	}
	f.Subject.Variables = []string{setting}
	f.Evidence = append(f.Evidence, finding.Evidence{
		What: setting, Value: known.Of(workers), Source: source.Variables, Text: fmt.Sprintf("%s is %s.",
			setting, about(workers)),
	})
	if ok1 && ok2 && read > 0 && done == 0 {
		// A place that does not move at all while the log comes in is one transaction: no number of appliers shortens
		// that.
		f.Confidence = finding.Possible
		f.Cause = "The applier did not finish a single transaction in the window: it is in a large one (a change of " +
			"many rows, a DDL statement), or waits for a lock."
		f.Falsify = "Disproved if its position in the source's log moves while the lag grows."
		f.Suggestion = "See what it does: the applier's state and statement in the process list, and which sessions " +
			"hold the locks that it waits for. On the source change many rows in batches, each with its own commit."
		f.Cost = "None for the check."
		f.Why = []finding.Reason{
			{Ask: "Does the replica keep up?", Answer: fmt.Sprintf("no, it lags by %s and the lag changes by %s s "+
				"each second", unit.Seconds(lag), about(slope)), Source: source.Replication},
			{
				Ask: "Does its applier progress?", Answer: "no, its position in the source's log did not move",
				Source: source.Replication,
			},
		}
		return f, true
	}
	durable := v.On("log_bin") && v.Number("sync_binlog").Or(0) == 1 ||
		v.Number("innodb_flush_log_at_trx_commit").Or(0) == 1
	if workers <= 1 {
		want := workersWanted(v)
		if lag >= badLag {
			f.Severity = finding.Critical
		}
		f.Cause = "The source commits many transactions at a time, and the replica applies them one after the other " +
			"in a single thread."
		if durable {
			f.Cause += " Each of them waits for the disk at its commit; parallel appliers share that wait."
		}
		f.Setting, f.File = []string{fmt.Sprintf("%s = %d", setting, want)}, "my.cnf"
		if v.MariaDB() {
			f.Setting = append(f.Setting, "slave_parallel_mode = optimistic")
			stop, start := "STOP SLAVE SQL_THREAD", "START SLAVE SQL_THREAD"
			if name != "" { // the setting is refused while the applier of any connection runs
				stop, start = "STOP ALL SLAVES", "START ALL SLAVES"
			}
			f.Suggestion = fmt.Sprintf("Apply in parallel: %s; SET GLOBAL slave_parallel_threads = %d; %s. Commits "+
				"keep their order.", stop, want, start)
			f.Reference, f.Valid = "https://mariadb.com/kb/en/parallel-replication/",
				"MariaDB from 10.0.5; the mode optimistic from 10.1.3"
		} else {
			words := "STOP REPLICA SQL_THREAD; SET GLOBAL %s = %d; START REPLICA SQL_THREAD"
			if setting == "slave_parallel_workers" {
				words = "STOP SLAVE SQL_THREAD; SET GLOBAL %s = %d; START SLAVE SQL_THREAD"
			}
			f.Suggestion = fmt.Sprintf("Apply in parallel: "+words+".", setting, want)
			if by, is := bySchema(v); is {
				f.Setting = append(f.Setting, by+" = LOGICAL_CLOCK")
				f.Suggestion += fmt.Sprintf(" Also, while the applier is stopped, SET GLOBAL %s = 'LOGICAL_CLOCK': "+
					"otherwise transactions on one schema are still applied one after the other.", by)
			}
			if _, has := v.Variable("replica_preserve_commit_order"); has {
				f.Setting = append(f.Setting, "replica_preserve_commit_order = ON")
			}
			if _, old := v.Variable("binlog_transaction_dependency_tracking"); old {
				f.Suggestion += " On the source set binlog_transaction_dependency_tracking = WRITESET, so that " +
					"transactions on different rows count as independent."
			}
			f.Reference, f.Valid = "https://dev.mysql.com/doc/refman/en/replication-options-replica.html", "MySQL "+
				"from 5.7"
		}
		f.Cost = "Some memory for each applier, and the applier stops for a moment. Transactions that touch the same " +
			"rows still wait for each other, or are applied again."
	} else {
		f.Suggestion = fmt.Sprintf("It applies with %s threads already. See what they wait for: large transactions, "+
			"tables without a primary key, transactions on the same rows", about(workers))
		if durable {
			f.Suggestion += ", the disk at each commit (a replica that can be rebuilt may do without: " +
				"innodb_flush_log_at_trx_commit = 2)"
		}
		f.Suggestion += "."
		if by, is := bySchema(v); is {
			f.Setting, f.File = []string{by + " = LOGICAL_CLOCK"}, "my.cnf"
			f.Subject.Variables = append(f.Subject.Variables, by)
			f.Suggestion = fmt.Sprintf("It has %s threads and shares the work by schema (%s = DATABASE): "+
				"transactions on one schema are applied one after the other. Set it to LOGICAL_CLOCK while the "+
				"applier is stopped.", about(workers), by)
		}
		f.Confidence = finding.Possible
		f.Cost = "None for the check."
	}
	if cpus, ok := v.Host.CPUs.Get(); ok && cpus <= 2 {
		f.Against = append(f.Against, fmt.Sprintf("With %s CPUs appliers have little to share but the wait for the "+
			"disk.", about(cpus)))
	}
	f.Why = []finding.Reason{
		{Ask: "Does the replica keep up?", Answer: fmt.Sprintf("no, it lags by %s and the lag changes by %s s each "+
			"second", unit.Seconds(lag), about(slope)), Source: source.Replication},
		{Ask: "Does it receive the log in time?", Answer: received(read, ok1), Source: source.Replication},
		{Ask: "How does it apply?", Answer: fmt.Sprintf("%s is %s", setting, about(workers)), Source: source.Variables},
	}
	return f, true
}

func received(read float64, ok bool) string {
	if !ok {
		return "not observed in this window"
	}
	return "yes, " + unit.Bytes(read) + " a second arrive"
}

// workersWanted is how many appliers are suggested.
func workersWanted(v *advise.View) int {
	if cpus, ok := v.Host.CPUs.Get(); ok {
		return min(appliers, max(4, int(2*cpus)))
	}
	return 4
}

// parallel returns how many appliers the settings ask for, and the name of the setting; none when the server has no
// such setting.
func parallel(v *advise.View) (workers float64, setting string) {
	names := []string{"replica_parallel_workers", "slave_parallel_workers"}
	if v.MariaDB() {
		names = []string{"slave_parallel_threads"}
	}
	for _, n := range names {
		if w, ok := v.Number(n).Get(); ok {
			return w, n
		}
	}
	return 0, ""
}

// bySchema reports whether appliers share the work by schema, which was the default before MySQL 8.0.27, and the
// setting that says so.
func bySchema(v *advise.View) (setting string, is bool) {
	for _, n := range []string{"replica_parallel_type", "slave_parallel_type"} {
		if x, ok := v.Variable(n); ok {
			return n, equal(x, "DATABASE")
		}
	}
	return "", false
}

// delay is how far behind a channel is meant to be, seconds.
func delay(v *advise.View, channel string) float64 {
	for _, x := range v.All("mysql_slave_status_sql_delay") {
		if x.Labels.Get("channel_name")+x.Labels.Get("connection_name") == channel && len(x.Points) > 0 {
			return x.Points[len(x.Points)-1].Value
		}
	}
	return 0
}

// position returns how many bytes a second a channel's place in the source's log moved; unknown when it went on to
// another file.
func position(v *advise.View, channel, of string) (float64, bool) {
	for _, word := range []string{"master", "source"} {
		for _, x := range v.All("mysql_slave_status_" + of + "_" + word + "_log_pos") {
			if x.Labels.Get("channel_name")+x.Labels.Get("connection_name") != channel || len(x.Points) < 2 {
				continue
			}
			a, b := x.Points[0], x.Points[len(x.Points)-1]
			if d := float64(b.At-a.At) / 1000; d > 0 && b.Value >= a.Value {
				return (b.Value - a.Value) / d, true
			}
		}
	}
	return 0, false
}
