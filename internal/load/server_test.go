package load

import (
	"errors"
	"testing"
)

// duplicates is a family whose errors a concurrent transaction may have caused.
type duplicates struct{ someFamily }

func (duplicates) Trouble(error) Trouble { return Trouble{Code: "23505", Retry: RetryAFew} }

// TestRetriesThatHaveAnEnd has the second statement of an operation fail again and again.
func TestRetriesThatHaveAnEnd(t *testing.T) {
	p := play(t, Config{})
	p.server = duplicates{}
	for range fewRetries {
		p.want(p.answer(nil, 20), stepSend, 1)
		p.want(p.answer(errors.New("duplicate"), 30), stepRollback, 0)
		p.want(p.answer(nil, 40), stepSend, 0)
	}
	p.want(p.answer(nil, 20), stepSend, 1)
	p.want(p.answer(errors.New("duplicate"), 30), stepFailed, 0)
	if n := p.c.errors["23505"]; n != fewRetries+1 {
		t.Errorf("%d errors", n)
	}
	p = play(t, Config{})
	p.server = duplicates{}
	p.want(p.answer(errors.New("duplicate"), 30), stepFailed, 0) // the first statement is what fails
}
