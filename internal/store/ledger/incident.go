package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/incident"
)

// Incidents are those of all targets.
type Incidents struct{ book }

// mostIncidents is how many are kept of a target at most, the newest.
const mostIncidents = 2000

// Put stores incidents, replacing those of the same ids, in one transaction. The id of a diagnosis that is stored stays
// where an incident has none.
func (s Incidents) Put(ctx context.Context, all []incident.Incident) error {
	for _, i := range all {
		if i.ID == "" || i.Target == "" || i.From.IsZero() {
			return fmt.Errorf("store incident %q: it has no id, no target or no begin", i.ID)
		}
	}
	return s.write(ctx, "store incident", func(tx *sql.Tx) error {
		for _, i := range all {
			doc, err := json.Marshal(i)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO incident VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
				target = excluded.target, began = excluded.began, ended = excluded.ended,
				doc = iif(excluded.doc ->> '$.diagnosis' IS NULL AND doc ->> '$.diagnosis' IS NOT NULL,
					json_set(excluded.doc, '$.diagnosis', doc ->> '$.diagnosis'), excluded.doc)`,
				i.ID, i.Target, millis(i.From), max(millis(i.From), millis(i.To)), string(doc)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Get returns the incident of that id, or ErrNotFound.
func (s Incidents) Get(ctx context.Context, id string) (incident.Incident, error) {
	return one[incident.Incident](ctx, s.book, "incident", id, "SELECT doc FROM incident WHERE id = ?", id)
}

// Newest returns, newest first, the newest n incidents of a target, or of all with target "", that lie in or reach into
// the time from from to to. A zero from or to means no bound, and n 0 all.
func (s Incidents) Newest(ctx context.Context, target string, from, to time.Time, n int) ([]incident.Incident, error) {
	of := "target = ?1" // by an index each
	if target == "" {
		of = "?1 = ''"
	}
	return list[incident.Incident](ctx, s.book, "incidents", nil, "SELECT doc FROM incident WHERE "+of+
		" AND ended >= ?2 AND began <= ?3 ORDER BY began DESC, id DESC LIMIT ?4", target, millis(from), lastOf(to),
		limit(n))
}
