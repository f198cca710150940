package host

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
)

// ioScheduler tells of a scheduler that orders requests for the sake of desktops.
func ioScheduler(v *advise.View) []finding.Finding {
	path := "block/" + v.Host.DatadirDev + "/queue/scheduler"
	all, ok := v.Host.Settings[path]
	now := chosen(all)
	if !ok || v.Host.DatadirDev == "" || now != "bfq" && now != "cfq" {
		return nil
	}
	want := "mq-deadline"
	if now == "cfq" {
		want = "deadline"
	}
	if !strings.Contains(all, want) {
		want = "none"
	}
	f := About("io-scheduler", path)
	f.Title = fmt.Sprintf("the disk of the data has the scheduler %s", now)
	f.Evidence = append(f.Evidence, Is("scheduler of "+v.Host.DatadirDev, now, want))
	f.Suggestion = fmt.Sprintf("It shares the disk fairly between programs and waits for more requests of the same "+
		"one, which slows a server with many threads. Try %s: echo %s > /sys/%s.", want, want, path)
	f.Setting = []string{fmt.Sprintf(`ACTION=="add|change", KERNEL=="%s", ATTR{queue/scheduler}="%s"`,
		v.Host.DatadirDev, want)}
	f.File = "/etc/udev/rules.d/60-scheduler.rules"
	f.Reference = "https://docs.kernel.org/block/switching-sched.html"
	return []finding.Finding{f}
}
