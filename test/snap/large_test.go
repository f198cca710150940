package snap

import (
	"reflect"
	"testing"

	"dyno/internal/snapshot"
)

func TestLarge(t *testing.T) {
	a, b, other := Large(1), Large(1), Large(2)
	if len(a.Classes) != LargeClasses || len(a.Tables) != LargeTables || len(a.Moments) != snapshot.MaxMoments {
		t.Fatalf("%d classes, %d tables, %d moments", len(a.Classes), len(a.Tables), len(a.Moments))
	}
	ids := map[string]bool{}
	for _, c := range a.Classes {
		ids[c.ID] = true
	}
	if len(ids) != LargeClasses {
		t.Errorf("%d different classes", len(ids))
	}
	if !reflect.DeepEqual(a, b) || reflect.DeepEqual(a.Classes, other.Classes) {
		t.Error("a seed does not decide what is built")
	}
}
