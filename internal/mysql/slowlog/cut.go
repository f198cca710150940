package slowlog

import "bytes"

// Cut returns the length of the longest prefix of piece that ends between entries, or 0 when there is none but the
// empty one. piece begins between entries. atEnd tells that the log ends with piece: then all of it is the answer.
func Cut(piece []byte, atEnd bool) int {
	if atEnd {
		return len(piece)
	}
	for end := len(piece); ; {
		i := bytes.LastIndex(piece[:end], []byte("\n# "))
		if i < 0 {
			return 0
		}
		if sure(piece, i+1) {
			return i + 1
		}
		end = i + 2
	}
}

// CutFirst returns where in piece, which may begin anywhere in a log, an entry begins for the first time, or -1. The
// very beginning of piece is not such a place: whether an entry begins there is told by the text before it.
func CutFirst(piece []byte) int {
	for i := 0; ; {
		n := bytes.Index(piece[i:], []byte("\n# "))
		if n < 0 {
			return -1
		}
		if i += n + 1; sure(piece, i) {
			return i
		}
	}
}

// sure reports whether an entry begins at i, the beginning of a line, wherever the reading began.
func sure(d []byte, i int) bool { return begins(d, i) && semicolon(d, 0, i-1) }
