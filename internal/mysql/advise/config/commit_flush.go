package config

import (
	"fmt"
	"math"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	// minCommits a second leaves out servers that hardly write.
	minCommits = 5.0
	// flushing is how many seconds a second threads must spend in syncs of the logs, or which part of the running
	// writes must be seen in their commit.
	flushing = 0.2
	// committing is that part of running writes; minSeen is how many must have been seen for it to say anything.
	committing = 0.4
	minSeen    = 8
	// minFlushLoad is how many statements at a time must be in their commit for it to matter.
	minFlushLoad = 0.2
	// writeShare is the part of the statement time that single writes must have.
	writeShare = 0.2
	// slowSync is the mean time of a sync from which a disk makes commits wait: a device with a cache that survives a
	// loss of power takes a tenth of that, and a machine whose CPUs are full some milliseconds at times.
	slowSync = 0.002
	// slowCommit takes its place where syncs are not counted: the time of a single write.
	slowCommit = 0.004
	// starved is how many times as long as a thread waits for a CPU, each time that it wants one, a sync must take. A
	// sync gives the CPU up once or twice, so that below that the wait for a CPU is what makes it slow.
	starved = 3.0
	// groupOf is how many rows to a transaction the expected gain is worked out for.
	groupOf = 10.0
)

// commitPhases are the words of servers for a statement that writes its commit to the logs.
var commitPhases = []string{
	"commit", "waiting for handler commit", "waiting for prior transaction to commit",
	"waiting for semi-sync ack",
}

// commitFlush finds single-row transactions whose time is the wait for the disk at commit.
func commitFlush(v *advise.View) []finding.Finding {
	redo, _ := v.Number("innodb_flush_log_at_trx_commit").Get()
	sync, _ := v.Number("sync_binlog").Get()
	binlog := v.On("log_bin") && sync == 1
	durable := redo == 1 || redo == 3
	if !durable && !binlog {
		return nil
	}
	w, ok := changes(v).Get()
	explicit := v.Rate(figures.Commands.Of("commit")).Or(0)
	if !ok || w < minCommits || v.Total <= 0 {
		return nil
	}
	// Without transactions of their own every change is a commit. Who writes a binary log counts them; where nobody
	// does and some COMMITs are sent, the changes are taken to be theirs.
	commits := w
	if n, ok := v.Status("Binlog_cache_use").Get(); ok && v.On("log_bin") && n > 0 {
		commits = min(w, n)
	} else if explicit > 0.05*w {
		commits = min(w, explicit)
	}
	perCommit := w / max(commits, 1e-9)
	if perCommit > 3 {
		return nil // grouped as it is
	}
	var syncs, synced float64
	counted := false
	for _, e := range []string{
		"wait/io/file/innodb/innodb_log_file", "wait/io/file/sql/binlog",
		"wait/io/file/sql/MYSQL_LOG",
	} {
		if x, ok := syncSeconds(v, e, "misc").Get(); ok && (e == "wait/io/file/innodb/innodb_log_file" && durable ||
			e != "wait/io/file/innodb/innodb_log_file" && binlog) {
			syncs, counted = syncs+x, true
			synced += v.Rate("mysql_perf_schema_file_events_total", metric.Label{Name: "event_name", Value: e},
				metric.Label{Name: "mode", Value: "misc"}).Or(0)
		}
	}
	if counted && synced > 0 && syncs/synced < slowSync {
		return nil
	}
	queue, queued := v.Rate("dyno_server_run_queue_seconds_total").Get()
	if queued && counted && synced > 0 {
		switches := 0.0
		for _, x := range v.All("dyno_server_context_switches_total") {
			r, _ := x.Rate()
			switches += r
		}
		if switches > 0 && syncs/synced < starved*queue/switches {
			return nil
		}
	}
	seen, all := phases(v, func(s state.Session) (of, in bool) {
		if s.SQL != "" && !writeWord(s.SQL) && !strings.EqualFold(strings.TrimSpace(s.SQL), "commit") {
			return false, false
		}
		p := strings.ToLower(s.Phase)
		for _, w := range commitPhases {
			if p == w {
				return true, true
			}
		}
		return true, strings.HasPrefix(p, "waiting for binlog") || strings.Contains(p, "group commit")
	})
	part := 0.0
	if all >= minSeen {
		part = float64(seen) / float64(all)
	}
	moments := len(v.Moments)
	load := float64(seen) / max(1, float64(moments)) // statements in their commit at a time
	byCount := counted && syncs >= flushing
	bySight := part >= committing && load >= minFlushLoad
	if _, replica := v.Find("dyno_replica_channels"); replica {
		byCount = byCount && bySight // the applier's commits are no matter of the clients: see replica-lag
	}
	if !byCount && !bySight {
		return nil
	}
	sec, calls, sampled, ids := singleWrites(v)
	if sec < writeShare*v.Total || calls == 0 {
		return nil
	}
	each := sec / float64(calls)
	if sampled {
		// Samples tell how much time writes took, but see only few of the short ones: the server counts them.
		each = sec / max(float64(calls), w*v.Window)
		if all < minSeen || each*(1-2/math.Sqrt(float64(all))) < slowCommit { // 95 % of a count is within that of it
			return nil
		}
	}
	wait := min(each, syncs/max(commits, 1e-9))
	if bySight {
		wait = max(wait, min(each, each*part))
	}
	if !counted && each < slowCommit || wait < 0.3*each {
		return nil
	}
	f := finding.Finding{
		Rule: "commit-flush", ID: finding.MakeID("commit-flush", "server"), Severity: finding.Warning,
		Confidence: finding.Likely,
		Subject:    finding.Subject{Classes: ids, Variables: []string{"innodb_flush_log_at_trx_commit", "sync_binlog"}},
		Title: fmt.Sprintf("%s of the statement time is writes of single rows, %s each, most of it waiting for the "+
			"disk at commit",
			unit.Percent(sec/v.Total), unit.Seconds(each)),
		Cause: fmt.Sprintf("Every change commits separately (%s for each commit), and a commit waits until the logs "+
			"are on the disk. The disk takes %s for that "+
			"whatever the size of the transaction.", countOf(perCommit, "change", "changes"), unit.Seconds(wait)),
		Falsify: "Disproved if the same rows written ten to a transaction take about as long.",
		Suggestion: "Write many rows in one transaction, or many rows in one INSERT: ten rows to a commit wait a " +
			"tenth of the time. That keeps every " +
			"guarantee. A disk that syncs faster (a cache with a battery, another volume for the logs) helps as well.",
		Cost: "Rows of a group become visible together and are lost together when it fails; locks are held " +
			"until its end, so keep groups to some ten or hundred rows.",
		Valid:     "all",
		Reference: "https://dev.mysql.com/doc/refman/en/optimizing-innodb-transaction-management.html",
		Explains:  []string{advise.EffectFsyncs},
	}
	for _, id := range ids {
		f.Explains = append(f.Explains, advise.ClassTime(id))
	}
	f.Share = min(0.95, sec/v.Total*(wait/each)*(1-1/groupOf))
	if f.Share >= 0.5 {
		f.Severity = finding.Critical
	}
	if byCount && bySight {
		f.Confidence = finding.Certain
	}
	f.Evidence = append(f.Evidence, finding.Evidence{
		What: "changes for each commit", Value: known.Of(perCommit), Expected: "≥ 10 for bulk writes",
		Source: source.GlobalStatus,
		Text:   fmt.Sprintf("%s in %s.", unit.Rate(w, "changes/s"), unit.Rate(commits, "commits/s")),
	})
	if counted {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "time in log syncs", Value: known.Of(syncs), Unit: "s/s", Source: source.FileIO,
			Text: fmt.Sprintf("Threads spent %s a second in log syncs, %s in each.", unit.Seconds(syncs),
				unit.Seconds(syncs/max(synced, 1e-9))),
		})
	}
	if all > 0 {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "running writes that were committing", Value: known.Of(100 * float64(seen) / float64(all)), Unit: "%",
			Source: source.Processlist, Sampled: true,
			Text: fmt.Sprintf("Of %d running writes sampled, %d were committing.", all, seen),
		})
	}
	for _, n := range []string{"Innodb_os_log_fsyncs", "Innodb_data_fsyncs"} {
		if r, ok := v.Status(n).Get(); ok {
			f.Evidence = append(f.Evidence, finding.Evidence{
				What: n, Value: known.Of(r), Unit: "1/s", Source: source.GlobalStatus,
				Text: fmt.Sprintf("The engine synced %s, %s for each commit.", unit.Rate(r, "times/s"),
					about(r/max(commits, 1e-9))),
			})
			break
		}
	}
	f.Evidence = append(f.Evidence, finding.Evidence{
		What: "durability", Source: source.Variables,
		Text: fmt.Sprintf("innodb_flush_log_at_trx_commit is %s, sync_binlog is %s, the binary log is %s: no "+
			"committed transaction is lost in a crash.", about(redo), about(sync), onOff(v.On("log_bin"))),
	})
	if !durable || v.On("log_bin") && !binlog {
		f.Evidence[len(f.Evidence)-1].Text = fmt.Sprintf("innodb_flush_log_at_trx_commit is %s, sync_binlog is %s, "+
			"the binary log is %s.", about(redo), about(sync), onOff(v.On("log_bin")))
	}
	f.Suggestion += fmt.Sprintf(" Only where losing the last second of commits in a crash of the machine is "+
		"acceptable: %s.", weaker(durable, binlog))
	factor := each / max(each-wait*(1-1/groupOf), 1e-9)
	f.Gain = &finding.Gain{
		What: "time of a written row", Lo: max(1, 1+(factor-1)*0.3), Hi: factor,
		Text: fmt.Sprintf("A write takes %s, of which %s is the wait. With ten rows to a commit each waits a tenth "+
			"of that: %s.", unit.Seconds(each), unit.Seconds(wait), unit.Seconds(each-wait*(1-1/groupOf))),
	}
	if explicit > 0 {
		f.Against = append(f.Against, fmt.Sprintf("Some changes come in explicit transactions: %s were sent.",
			unit.Rate(explicit, "COMMITs/s")))
	}
	if !counted {
		f.Unobserved = append(f.Unobserved, blinds(v, source.FileIO)...)
	}
	if !queued { // a sync may last because its thread finds no CPU afterwards
		f.Confidence = finding.Possible
		f.Unobserved = append(f.Unobserved, "How long threads wait for a CPU was not observed: on a machine without "+
			"a free CPU a sync seems slow on any disk.")
	}
	f.Why = []finding.Reason{
		{Ask: "Where does the time go?", Answer: fmt.Sprintf("%s of it into writes of single rows",
			unit.Percent(sec/v.Total)), Source: source.Digests},
		{
			Ask:    "What do these writes spend that time on?",
			Answer: fmt.Sprintf("%d of %d running writes sampled were committing", seen, all),
			Source: source.Processlist,
		},
		{Ask: "Why do commits wait?", Answer: "the logs are synced at each one: " +
			weakest(redo, sync, v.On("log_bin")), Source: source.Variables},
		{Ask: "Could they share a sync?", Answer: fmt.Sprintf("yes: there is a commit for every %s",
			countOf(perCommit, "change", "changes")), Source: source.GlobalStatus},
	}
	return []finding.Finding{f}
}

// singleWrites returns time, calls and ids of the classes that change rows and are no large statements: at most a few
// rows each; sampled: some of the calls were not counted.
func singleWrites(v *advise.View) (sec float64, calls uint64, sampled bool, ids []string) {
	for n, c := range v.Classes {
		if n >= 200 {
			break
		}
		if v.Share(c) < 0.01 {
			continue
		}
		sh, err := v.Shape(c)
		if err != nil || sh.Kind == shape.Select {
			if err == nil || !writeWord(c.Fingerprint) {
				continue
			}
		}
		if !writeWord(c.Fingerprint) || c.Count == 0 {
			continue
		}
		if rows, ok := c.PerCall(c.Affected).Get(); ok && rows > 5 {
			continue
		}
		sec, calls, sampled, ids = sec+c.TimeSec, calls+c.Count, sampled || c.Sampled, append(ids, c.ID)
	}
	return sec, calls, sampled, ids
}

func writeWord(fingerprint string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(strings.ToLower(fingerprint)), " ")
	switch word {
	case "insert", "update", "delete", "replace":
		return true
	}
	return false
}

func countOf(n float64, one, many string) string {
	if n > 0.95 && n < 1.05 {
		return "one " + one
	}
	return about(n) + " " + many
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// weaker names the settings that wait less and lose more.
func weaker(redo, binlog bool) string {
	switch {
	case redo && binlog:
		return "innodb_flush_log_at_trx_commit = 2 with sync_binlog = 100 (then a replica may hold commits that its " +
			"source has lost)"
	case redo:
		return "innodb_flush_log_at_trx_commit = 2"
	default:
		return "sync_binlog = 100 (then a replica may hold commits that its source has lost)"
	}
}

func weakest(redo, sync float64, binlog bool) string {
	s := "innodb_flush_log_at_trx_commit = " + about(redo)
	if binlog {
		s += ", sync_binlog = " + about(sync)
	}
	return s
}
