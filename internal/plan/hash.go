package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Hash returns a digest of what decides the figures: the variants with all they are made of, the trials, the placement,
// and the value that verdicts are about. Trials of plans of one hash belong together. Titles and texts, published
// figures, prices, the budget and the layout of the table do not count.
func (p Plan) Hash() string {
	vs, err := p.Variants()
	of := struct {
		Format    int
		Database  string
		Variants  []Variant
		Broken    *Plan // a plan that cannot be expanded is nothing but itself
		Trials    Trials
		Placement Placement
		Judged    string
	}{Format: Format, Database: p.Database, Variants: vs, Trials: p.Trials, Placement: p.Placement}
	if err != nil {
		of.Broken = &p
	}
	if len(p.Table.Show) > 0 {
		of.Judged = p.Table.Show[0]
	}
	text, err := json.Marshal(of)
	if err != nil { // a number that is none, which Parse lets nobody write
		panic("BUG: hash plan: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
