package mytext

import (
	"strings"
	"testing"
)

// TestCommentsOfShowStayShort: what one comment for a version holds stands for all of them, and must not make a short
// text a huge one.
func TestCommentsOfShowStayShort(t *testing.T) {
	got := string(uncommented([]byte("show /*!50003 global*/ status /*!1*/")))
	if !strings.HasPrefix(got, "show  global status") {
		t.Errorf("%q", got)
	}
	s := []byte("select 'x\nshow /*!1 " + strings.Repeat("a", 1<<15) + "*/" + strings.Repeat("/*!1*/", 5000) + "'")
	if got := uncommented(s); len(got) > 20*len(s) {
		t.Errorf("%d bytes of %d", len(got), len(s))
	}
}
