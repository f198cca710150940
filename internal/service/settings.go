package service

import (
	"context"
	"os"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// Settings is how a service is set up, and what that costs.
type Settings struct {
	Version string          `json:"version"`
	Home    string          `json:"home"`
	Listen  string          `json:"listen,omitzero"`
	Started time.Time       `json:"started"`
	Every   float64         `json:"every_seconds"` // between two readings of a target
	Targets []ledger.Target `json:"targets"`       // the inventory
	// the targets were named when the service was started: the inventory is not followed
	Fixed bool `json:"fixed,omitzero"`
	// Redact says that no literal of any target's statements is kept or shown: dyno serve was started with --redact.
	Redact  bool        `json:"redact,omitzero"`
	Keeping []Keeping   `json:"keeping"`
	Disk    Disk        `json:"disk"`
	Process OwnProcess  `json:"process"`
	Writes  []Elsewhere `json:"remote_writes"`
	// Warnings tell what is wrong with the clock or went wrong inside the stores and did not stop them.
	Warnings []string `json:"warnings"`
}

// Keeping is how long one kind of things is kept, what that takes now and what it will take.
type Keeping struct {
	app.Kept
	Flag string `json:"flag,omitzero"` // of dyno serve, which sets it
	// Fixed says that the flag was given, so that nothing else changes it.
	Fixed bool `json:"fixed,omitzero"`
	// Days is how long it is kept; unknown: for ever.
	Days known.Value[float64] `json:"keep_days,omitzero"`
	// Limit bounds it on the disk, bytes.
	Limit known.Value[float64] `json:"limit_bytes,omitzero"`
	// LimitName is the name under which Limit is set, LimitFixed that a flag of dyno serve was given for it.
	LimitName  string `json:"limit_name,omitzero"`
	LimitFixed bool   `json:"limit_fixed,omitzero"`
	// FullIn is in how many days Limit is reached at the measured growth; unknown where age drops the oldest before.
	FullIn known.Value[float64] `json:"full_in_days,omitzero"`
	// Growth is bytes a day, measured; unknown before there is an hour of it.
	Growth known.Value[float64] `json:"growth_bytes_per_day,omitzero"`
	// Will is what it comes to at that pace when it is as old as it may get, bytes.
	Will    known.Value[float64] `json:"will_take_bytes,omitzero"`
	Targets []TargetShare        `json:"targets,omitempty"` // most first
}

// TargetShare is one target's part of the stored data. It is shared out, not counted: By says how.
type TargetShare struct {
	Target string               `json:"target"`
	Share  float64              `json:"share"` // 0 to 1
	PerDay known.Value[float64] `json:"bytes_per_day,omitzero"`
	By     string               `json:"by"` // "series", "size of a state", "classes of an hour"
}

// Disk is the file system of Dyno's home, bytes.
type Disk struct {
	Total known.Value[uint64] `json:"total_bytes,omitzero"`
	Free  known.Value[uint64] `json:"free_bytes,omitzero"`
}

// OwnProcess is what this process takes of the machine, since it started.
type OwnProcess struct {
	PID    int                  `json:"pid"`
	Memory known.Value[uint64]  `json:"memory_bytes,omitzero"` // resident
	CPU    known.Value[float64] `json:"cpu_seconds,omitzero"`
	Read   known.Value[uint64]  `json:"read_bytes,omitzero"` // from disks
	Wrote  known.Value[uint64]  `json:"wrote_bytes,omitzero"`
	Uptime float64              `json:"uptime_seconds"`
}

// Elsewhere is another store that samples are sent to.
type Elsewhere struct {
	To      string    `json:"to"`
	Acked   time.Time `json:"acked,omitzero"`
	Samples uint64    `json:"samples"`
	Since   time.Time `json:"failing_since,omitzero"`
	Error   string    `json:"error,omitzero"`
}

// Settings returns how the service is set up. What is kept is measured once a minute at most.
func (s *Service) Settings(ctx context.Context) (Settings, error) {
	x := Settings{
		Version: s.app.Version, Home: s.app.Home, Started: s.started, Every: s.Fleet.Every().Seconds(),
		Targets: []ledger.Target{}, Fixed: len(s.o.Targets) > 0, Redact: s.app.Redact,
		Writes: []Elsewhere{}, Process: s.own(), Warnings: append([]string{}, s.Warnings()...),
	}
	all, err := s.ledger.Targets(ctx)
	if err != nil {
		return x, err
	}
	x.Targets = append(x.Targets, all...)
	if x.Keeping, err = s.Retention.keeping(ctx); err != nil {
		return x, err
	}
	if total, free, err := host.Room(s.app.Home); err == nil {
		x.Disk = Disk{known.Of(total), known.Of(free)}
	}
	for _, w := range s.Writers() {
		e := Elsewhere{To: w.To, Acked: w.Acked, Samples: w.Samples, Since: w.Since}
		if w.Err != nil {
			e.Error = w.Err.Error()
		}
		x.Writes = append(x.Writes, e)
	}
	return x, nil
}

func (s *Service) own() OwnProcess {
	p := OwnProcess{PID: os.Getpid(), Uptime: time.Since(s.started).Seconds()}
	if r, err := host.Process(p.PID); err == nil {
		p.Memory, p.CPU, p.Read, p.Wrote = known.Of(r.RSSBytes), known.Of(r.UserSec+r.SysSec), r.ReadBytes, r.WriteBytes
	}
	return p
}
