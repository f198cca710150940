package scrape

import (
	"context"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/source"
)

// Price is what reading one source costs. Means are over the readings that gave something.
type Price struct {
	Source source.Name  `json:"source"`
	Cost   Cost         `json:"cost"`
	Every  float64      `json:"every_sec"` // between two readings
	State  source.State `json:"state"`
	Reason string       `json:"reason,omitzero"`
	Reads  int          `json:"reads"`
	// of the server's time: wall-clock of the statements but for the way there and back
	ServerMS   Spread               `json:"server_ms,omitzero"`
	ClientMS   known.Value[float64] `json:"client_ms,omitzero"` // CPU of this program
	Samples    float64              `json:"samples"`
	Rows       float64              `json:"rows"`
	Bytes      float64              `json:"bytes"` // of the values in these rows
	Statements float64              `json:"statements"`
}

// Spread is the mean of some readings with the range of them.
type Spread struct {
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

// PerSecond returns the mean cost of a source over time, milliseconds a second: of the server and of this program.
func (p Price) PerSecond() (server float64, client known.Value[float64]) {
	every := max(p.Every, 1)
	if c, ok := p.ClientMS.Get(); ok {
		client = known.Of(c / every)
	}
	return p.ServerMS.Mean / every, client
}

// Measure reads each source that o names alone, rounds times, by scrapers that open makes of one server, and returns
// what each costs, in the order of its entries. Sources that are read only when asked for are measured when o names
// them. It takes a connection at a time. A first reading, in which a source learns about the server, is not counted. An
// error means that ctx ended.
//
// CPU of this program is that of the whole of it: it should do nothing else meanwhile.
func Measure(ctx context.Context, open func(Options) (*Scraper, error), o Options, rounds int) ([]Price, error) {
	if rounds < 1 {
		return nil, fmt.Errorf("measure the cost of scrapes: %d are too few, the minimum is 1", rounds)
	}
	all, err := open(o)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	var out []Price
	for _, st := range all.states {
		o := Options{Timeout: all.timeout, Sources: []string{string(st.src.Name())}}
		if st.traits.Cost == Heavy {
			o.Timeout = max(o.Timeout, 5*time.Second)
		}
		p, err := price(ctx, open, o, rounds)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func price(ctx context.Context, open func(Options) (*Scraper, error), o Options, rounds int) (p Price, err error) {
	s, err := open(o)
	if err != nil {
		return p, err
	}
	defer s.Close()
	st := s.states[0]
	s.Once(ctx)
	p = Price{Source: st.src.Name(), Cost: st.traits.Cost, Every: st.usual(time.Second).Seconds()}
	before, cpu := st.used, time.Duration(0)
	for range rounds {
		begin, ok1 := ownCPU()
		was := st.used.Server
		r := s.Once(ctx)
		end, ok2 := ownCPU()
		if err := ctx.Err(); err != nil {
			return p, fmt.Errorf("measure the cost of scraping %s: %w", p.Source, err)
		}
		p.State, p.Reason = r.Sources[0].State, r.Sources[0].Reason
		if !usable(st.err) {
			break // it will not get better within moments
		}
		ms := (st.used.Server - was).Seconds() * 1000
		if p.Reads == 0 {
			p.ServerMS.Min = ms
		}
		p.ServerMS.Min, p.ServerMS.Max = min(p.ServerMS.Min, ms), max(p.ServerMS.Max, ms)
		p.Reads++
		for _, x := range r.Parts {
			p.Samples += float64(x.Samples)
		}
		if ok1 && ok2 {
			cpu += end - begin
		}
	}
	if p.Reads == 0 {
		return p, nil
	}
	n := float64(p.Reads)
	u := st.used.Minus(before)
	p.Samples /= n
	p.ServerMS.Mean = u.Server.Seconds() * 1000 / n
	p.Rows, p.Bytes, p.Statements = float64(u.Rows)/n, float64(u.Bytes)/n, float64(u.Statements)/n
	if _, ok := ownCPU(); ok {
		p.ClientMS = known.Of(cpu.Seconds() * 1000 / n)
	}
	return p, nil
}
