package schema

// SameKey reports whether two indexes have the same type, uniqueness and parts. Names, statistics and visibility do not
// count.
func SameKey(a, b Index) bool {
	if a.Unique != b.Unique || kind(a) != kind(b) || len(a.Parts) != len(b.Parts) {
		return false
	}
	for i := range a.Parts {
		if !samePart(a.Parts[i], b.Parts[i]) {
			return false
		}
	}
	return true
}

// Serves reports whether index a makes a non-unique index b unnecessary: b's parts are the first ones of a, in the same
// order and direction, and b enforces nothing that a does not. A hidden index serves nothing.
func Serves(a, b Index) bool {
	if a.Hidden || kind(a) != "BTREE" || kind(b) != "BTREE" || len(a.Parts) < len(b.Parts) || b.Unique &&
		!(a.Unique && len(a.Parts) == len(b.Parts)) {
		return false
	}
	for i, p := range b.Parts {
		q := a.Parts[i]
		if samePart(q, p) {
			continue
		}
		// A longer prefix, or the whole column, serves a shorter one when it comes last.
		longer := p.Prefix > 0 && (q.Prefix == 0 || q.Prefix >= p.Prefix)
		if q.Prefix, p.Prefix = 0, 0; !longer || i != len(b.Parts)-1 || b.Unique || !samePart(q, p) {
			return false
		}
	}
	return true
}

func samePart(a, b IndexPart) bool {
	return equalFold(a.Column, b.Column) && a.Expr == b.Expr && a.Prefix == b.Prefix && a.Desc == b.Desc
}

func kind(x Index) string {
	if x.Type == "" {
		return "BTREE"
	}
	return x.Type
}
