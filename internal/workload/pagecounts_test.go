package workload

import (
	"slices"
	"strconv"
	"testing"
)

func TestPageCountRows(t *testing.T) {
	p := build(t, PageCountsSelect(), map[string]string{"table-size": "20000", "pages": "5000"})
	rows := rowsOf(p.Tables[0], 7, 1, 20000)
	titles := map[string]int{}
	large, small := 0, 0
	for i, r := range rows {
		if h := "2020-01-01 0" + strconv.Itoa(i/5000) + ":00:00"; r[1] != h {
			t.Fatalf("row %d is of %s, want %s", i+1, r[1], h)
		}
		if i >= 5000 && (r[2] != rows[i-5000][2] || r[3] != rows[i-5000][3]) {
			t.Fatalf("page %v is called %v an hour later", rows[i-5000], r)
		}
		if i%5000 > 0 && r[2] < rows[i-1][2] {
			t.Fatalf("project %s follows %s", r[2], rows[i-1][2])
		}
		titles[r[2]+" "+r[3]]++
		n, err := strconv.Atoi(r[4])
		if size, serr := strconv.Atoi(r[5]); err != nil || serr != nil || n < 1 || size < 2000*n || size > 102_000*n {
			t.Fatalf("row %v", r)
		}
		if n > 100 {
			large++
		}
		if n < 5 {
			small++
		}
	}
	if len(titles) < 2500 {
		t.Errorf("5000 pages have %d titles", len(titles))
	}
	if small < 12_000 || large < 20 || large > 400 {
		t.Errorf("of 20000 rows %d have few requests and %d many", small, large)
	}
}

func TestTitleTables(t *testing.T) {
	sum := 0.0
	for i, p := range projects {
		sum += p.share
		if i > 0 && p.name <= projects[i-1].name {
			t.Errorf("%s is not sorted", p.name)
		}
	}
	if sum != projectShares {
		t.Errorf("shares sum to %v", sum)
	}
	if !slices.IsSorted(titleWords[:]) {
		t.Error("words are not sorted")
	}
	// The ends of the ranges.
	for _, of := range []int{1, 2, 3, 1000, 1_000_000_000} {
		pageTitle(1, 0, of, nil)
		pageTitle(1, of-1, of, nil)
	}
}
