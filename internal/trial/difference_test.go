package trial

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/plan"

	"github.com/google/go-cmp/cmp"
)

// env makes an environment of "group.name=value" and "?group.name=reason".
func env(facts ...string) Environment {
	e := Environment{Facts: map[string]map[string]string{}, Unknown: map[string]string{}}
	for _, f := range facts {
		k, v, _ := strings.Cut(f, "=")
		if u, ok := strings.CutPrefix(k, "?"); ok {
			e.Unknown[u] = v
			continue
		}
		g, n, _ := strings.Cut(k, ".")
		if e.Facts[g] == nil {
			e.Facts[g] = map[string]string{}
		}
		e.Facts[g][n] = v
	}
	return e
}

// told writes differences as "group.name (why) key: value, key: value".
func told(ds []Difference) (out []string) {
	for _, d := range ds {
		s := d.Group + "." + d.Name
		if d.Why != "" {
			s += " (" + d.Why + ")"
		}
		if d.Varied {
			s += " varied"
		}
		for _, k := range slices.Sorted(maps.Keys(d.Values)) {
			s += " " + k + ":" + d.Values[k]
		}
		out = append(out, s)
	}
	return out
}

func knowNothing(string) Causes { return Causes{} }

// TestDifferencesNeedAFunction: an axis explains a fact only as far as variants that agree in the axis agree in the
// fact.
func TestDifferencesNeedAFunction(t *testing.T) {
	vs := []plan.Variant{
		{Key: "old,1", Config: plan.Config{Server: "old", Settings: map[string]string{"sync_binlog": "1"}}},
		{Key: "old,2", Config: plan.Config{Server: "old", Settings: map[string]string{"sync_binlog": "2"}}},
		{Key: "new,1", Config: plan.Config{Server: "new", Settings: map[string]string{"sync_binlog": "1"}}},
		{Key: "new,2", Config: plan.Config{Server: "new", Settings: map[string]string{"sync_binlog": "2"}}},
	}
	envs := map[string][]Environment{}
	for _, v := range vs {
		sort := map[string]string{"old": "256", "new": "512"}[v.Config.Server]
		join := sort
		if v.Key == "new,2" {
			join = "1" // somebody changed it on this one
		}
		envs[v.Key] = []Environment{env("variable.sync_binlog="+v.Config.Settings["sync_binlog"],
			"variable.sort_buffer_size="+sort, "variable.join_buffer_size="+join, "kernel.release=6")}
	}
	same, also, explained := Differences(vs, envs, knowNothing)
	if len(also) != 1 || also[0].Name != "join_buffer_size" {
		t.Errorf("also differs: %v", told(also))
	}
	if len(explained) != 2 || explained[0].Why != byServer || explained[1].Why != bySetting {
		t.Errorf("explained: %v", told(explained))
	}
	if same.Facts["kernel"]["release"] != "6" || len(same.Facts) != 1 {
		t.Errorf("same: %v", same)
	}
}

func TestSameIsWhatAllShare(t *testing.T) {
	vs := []plan.Variant{{Key: "a"}, {Key: "b"}}
	same, _, _ := Differences(vs, map[string][]Environment{
		"a": {env("machine.cpus=2", "?machine.model=none told", "server.cgroup=/x", "kernel.swappiness=1")},
		"b": {env("machine.cpus=2", "?machine.model=none told", "server.cgroup=/x", "kernel.swappiness=2"), {}},
	}, knowNothing)
	want := Environment{
		Facts:   map[string]map[string]string{"machine": {"cpus": "2"}, "server": {"cgroup": "/x"}},
		Unknown: map[string]string{"machine.model": "none told"},
	}
	if d := cmp.Diff(want, same); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestApart has two results with the variants a and b; facts of a result that no variant is named for were the same in
// all its trials.
func TestApart(t *testing.T) {
	result := func(facts []string, differ ...Difference) Result {
		r := Result{Env: env(facts...)}
		for _, d := range differ {
			if d.Why != "" {
				r.Explained = append(r.Explained, d)
			} else {
				r.AlsoDiffers = append(r.AlsoDiffers, d)
			}
		}
		return r
	}
	by := func(name, why string, varied bool, a, b string) Difference {
		group, name, _ := strings.Cut(name, ".")
		d := Difference{Group: group, Name: name, Why: why, Varied: varied, Values: map[string]string{}}
		for key, v := range map[string]string{"a": a, "b": b} {
			if v != "" {
				d.Values[key] = v
			}
		}
		return d
	}
	f := func(name string, x, y Result, same []string, want ...string) {
		t.Helper()
		got, differ := Apart(x, y, [2]string{"X", "Y"}, []string{"a", "b"}, func(key string, side int) string {
			return key + "/" + []string{"X", "Y"}[side]
		})
		if d := cmp.Diff(want, told(differ)); d != "" {
			t.Errorf("%s: differs (-want +got):\n%s", name, d)
		}
		wanted := env(same...)
		if len(wanted.Unknown) == 0 {
			wanted.Unknown = nil
		}
		if d := cmp.Diff(wanted, got); d != "" {
			t.Errorf("%s: the same (-want +got):\n%s", name, d)
		}
	}
	facts := func(s ...string) []string { return s }

	f("a machine", result(facts("kernel.release=6", "machine.cpus=2", "server.unit=x")),
		result(facts("kernel.release=6", "machine.cpus=4", "server.unit=y")),
		facts("kernel.release=6"), "machine.cpus X:2 Y:4")
	f("what the variants differ by is the same on both", result(facts("server.os=1"),
		by("server.version", byServer, false, "8", "9")),
		result(facts("server.os=1"), by("server.version", byServer, false, "8", "9")), facts("server.os=1"))
	f("one variant", result(nil, by("server.version", byServer, false, "8.1", "9")),
		result(nil, by("server.version", byServer, false, "8.2", "9")), nil,
		"server.version a/X:8.1 a/Y:8.2 b/X:9 b/Y:9")
	f("each variant in its own way", result(nil, by("server.version", byServer, false, "8.1", "9.1")),
		result(nil, by("server.version", byServer, false, "8.2", "9.2")), nil,
		"server.version a/X:8.1 a/Y:8.2 b/X:9.1 b/Y:9.2")
	f("a variable that one variant's server does not have", result(facts("variable.old=1"),
		by("variable.new", byServer, false, "1", absent)),
		result(facts("variable.old=1"), by("variable.new", byServer, false, "2", absent)), facts("variable.old=1"),
		"variable.new a/X:1 a/Y:2 b/X:(none) b/Y:(none)")
	f("one side alone has it", result(facts("variable.old=1")), result(facts("variable.old=1", "variable.new=1")),
		facts("variable.old=1"), "variable.new X:(none) Y:1")
	f("it varied on one side", result(facts("machine.cpus=2"), by("machine.governor", "", true,
		"powersave | performance", "performance")),
		result(facts("machine.cpus=2", "machine.governor=performance")), facts("machine.cpus=2"),
		"machine.governor varied a/X:powersave | performance a/Y:performance b/X:performance b/Y:performance")
	f("it varied on both", result(nil, by("machine.governor", "", true, "x | y", "x | y")),
		result(nil, by("machine.governor", "", true, "x | y", "x | y")), nil,
		"machine.governor varied X:x | y Y:x | y")
	f("unknown on both, with its reason", result(facts("?kernel.x=not permitted")),
		result(facts("?kernel.x=not permitted")), facts("?kernel.x=not permitted"))
	f("unknown on one", result(facts("?kernel.x=not permitted")), result(facts("kernel.x=1")), nil,
		"kernel.x X:(unknown) Y:1")
	f("a group that nobody looked at", result(facts("machine.cpus=2")),
		result(facts("machine.cpus=2", "storage.device=vda")), facts("machine.cpus=2"))
	f("a variant that could not be measured", result(nil, by("server.version", byServer, false, "8.1", "")),
		result(nil, by("server.version", byServer, false, "8.2", "9")), nil,
		"server.version X:8.1 Y:8.2")
	f("a difference within one result", result(nil, by("kernel.swappiness", "", false, "1", "60")),
		result(nil, by("kernel.swappiness", "", false, "1", "60")), nil)
	f("it differs within one alone", result(nil, by("kernel.swappiness", "", false, "1", "60")),
		result(facts("kernel.swappiness=60")), nil,
		"kernel.swappiness a/X:1 a/Y:60 b/X:60 b/Y:60")
}
