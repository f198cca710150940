package report

import (
	"time"

	"github.com/dyno-perf/dyno/internal/digest"
)

// digestPictures are those of a class.
func digestPictures(k *digest.Row, anchor string) drawing {
	f := figure{Class: "pictures"}
	for _, draw := range []func(*digest.Row, string) (svg, bool){distributionPicture, overTimePicture} {
		if g, ok := draw(k, anchor); ok {
			f.SVGs = append(f.SVGs, g)
		}
	}
	if len(f.SVGs) == 0 {
		return drawing{}
	}
	return drawing{Figures: []figure{f}}
}

// The small pictures of a class share their measures: a title, columns, and labels below them.
const (
	smallWidth, smallHeight = 380.0, 160.0
	smallTop, smallBottom   = 38.0, 134.0
	smallLeft, smallRight   = 2.0, 378.0
)

func smallPicture(id, title, label string) *svg {
	g := &svg{ID: id, Size: "small-picture", Width: smallWidth, Label: label}
	g.plot(smallLeft, smallRight, smallTop, smallBottom, smallHeight-smallBottom)
	g.across(smallBottom, "axis", "")
	g.text(smallLeft, font+1, "", "unit", title, "")
	return g
}

// distributionPicture draws how many statements took how long; false when the source keeps no distribution.
func distributionPicture(k *digest.Row, id string) (svg, bool) {
	top := most(k.Histogram[:])
	if top == 0 {
		return svg{}, false
	}
	g := smallPicture(id+"-time", "Statements by response time", "How many statements took how long")
	slot := (smallRight - smallLeft) / float64(len(k.Histogram))
	for i, n := range k.Histogram {
		x, label := smallLeft+slot*float64(i), digestDecades[i]
		g.text(x+slot/2, smallBottom+18, "middle", "", label, "")
		if n == 0 {
			continue
		}
		h := max(2, float64(n)/float64(top)*(smallBottom-smallTop))
		title := digestCount(n) + " of " + label + " to ten times that"
		if i == len(k.Histogram)-1 {
			title = digestCount(n) + " of 10s or more"
		}
		g.box(x+3, smallBottom-h, slot-6, h, "col", "", title)
		g.text(x+slot/2, smallBottom-h-5, "middle", "figure", digestRate(float64(n)), "")
	}
	return *g, true
}

// overTimePicture draws how the calls spread over time; false when they all fell into one step.
func overTimePicture(k *digest.Row, id string) (svg, bool) {
	m := squeezed(k.PerMinute, 120)
	if len(m.Counts) < 2 {
		return svg{}, false
	}
	top := max(1, most(m.Counts))
	g := smallPicture(id+"-calls", "Calls over time, at most "+digestRate(float64(top))+" in "+stepText(m.StepSec),
		"Calls over time: "+sparkNote(m))
	slot := (smallRight - smallLeft) / float64(len(m.Counts))
	for i, n := range m.Counts {
		if n == 0 {
			continue
		}
		h := max(1, float64(n)/float64(top)*(smallBottom-smallTop+14))
		at := m.Start.Add(time.Duration(float64(i) * m.StepSec * float64(time.Second)))
		g.box(smallLeft+slot*float64(i), smallBottom-h, slot-min(1, slot/8), h, "col", "",
			digestStamp(at)+": "+digestCount(n))
	}
	g.text(smallLeft, smallBottom+18, "", "", digestStamp(m.Start), "")
	g.text(smallRight, smallBottom+18, "end", "", digestStamp(minutesEnd(m)), "")
	return *g, true
}
