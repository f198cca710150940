package report_test

import (
	"os"
	"testing"

	"dyno/internal/report"
)

func TestLook(t *testing.T) {
	report.Text(os.Stdout, sample(), report.Options{Width: 100})
}
