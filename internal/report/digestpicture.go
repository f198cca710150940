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

func smallPicture(id, title, label string) svg {
	return svg{
		ID: id, Size: "small-picture", Width: px(smallWidth), Height: px(smallHeight), Label: label,
		Left: px(smallLeft), Right: px(smallRight), Top: px(smallTop), Bottom: px(smallBottom),
		Lines: []svgLine{{
			X1: px(smallLeft), X2: px(smallRight), Y1: px(smallBottom),
			Y2: px(smallBottom), Class: "axis",
		}},
		Texts: []svgText{{X: px(smallLeft), Y: px(font + 1), Class: "unit", Text: title}},
	}
}

// distributionPicture draws how many statements took how long; false when the source keeps no distribution.
func distributionPicture(k *digest.Row, id string) (svg, bool) {
	var top uint64
	for _, n := range k.Histogram {
		top = max(top, n)
	}
	if top == 0 {
		return svg{}, false
	}
	g := smallPicture(id+"-time", "Statements by response time", "How many statements took how long")
	slot := (smallRight - smallLeft) / float64(len(k.Histogram))
	for i, n := range k.Histogram {
		x := smallLeft + slot*float64(i)
		mid := px(x + slot/2)
		label := digestDecades[i]
		g.Texts = append(g.Texts, svgText{X: mid, Y: px(smallBottom + 18), Anchor: "middle", Text: label})
		if n == 0 {
			continue
		}
		h := max(2, float64(n)/float64(top)*(smallBottom-smallTop))
		title := digestCount(n) + " of " + label + " to ten times that"
		if i == len(k.Histogram)-1 {
			title = digestCount(n) + " of 10s or more"
		}
		g.Bands = append(g.Bands, svgRect{
			X: px(x + 3), Y: px(smallBottom - h), W: px(slot - 6), H: px(h),
			Class: "col", Title: title,
		})
		g.Texts = append(g.Texts, svgText{
			X: mid, Y: px(smallBottom - h - 5), Anchor: "middle", Class: "figure",
			Text: digestRate(float64(n)),
		})
	}
	return g, true
}

// overTimePicture draws how the calls spread over time; false when they all fell into one step.
func overTimePicture(k *digest.Row, id string) (svg, bool) {
	m := squeezed(k.PerMinute, 120)
	if len(m.Counts) < 2 {
		return svg{}, false
	}
	var top uint64 = 1
	for _, n := range m.Counts {
		top = max(top, n)
	}
	g := smallPicture(id+"-calls", "Calls over time, at most "+digestRate(float64(top))+" in "+stepText(m.StepSec),
		"Calls over time: "+sparkNote(m))
	slot := (smallRight - smallLeft) / float64(len(m.Counts))
	for i, n := range m.Counts {
		if n == 0 {
			continue
		}
		h := max(1, float64(n)/float64(top)*(smallBottom-smallTop+14))
		at := m.Start.Add(time.Duration(float64(i) * m.StepSec * float64(time.Second)))
		gap := min(1, slot/8)
		g.Bands = append(g.Bands, svgRect{
			X: px(smallLeft + slot*float64(i)), Y: px(smallBottom - h), W: px(slot - gap),
			H: px(h), Class: "col", Title: digestStamp(at) + ": " + digestCount(n),
		})
	}
	from, to := digestStamp(m.Start), digestStamp(minutesEnd(m))
	g.Texts = append(g.Texts,
		svgText{X: px(smallLeft), Y: px(smallBottom + 18), Text: from},
		svgText{X: px(smallRight), Y: px(smallBottom + 18), Anchor: "end", Text: to})
	return g, true
}
