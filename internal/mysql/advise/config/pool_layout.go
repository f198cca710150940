package config

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/mysql/arith"
	"github.com/dyno-perf/dyno/internal/source"
)

const mostChunks = 1000 // above, the manual says, the pool is slowed down by them

// poolLayout says how the buffer pool is laid out where that is worth knowing: in very many chunks, or with settings
// that have no effect any more.
func poolLayout(v *advise.View) []finding.Finding {
	ask, now := poolOf(v)
	if ask.Size == 0 {
		return nil
	}
	f := finding.Finding{
		ID: finding.MakeID("pool-layout", "innodb_buffer_pool_chunk_size"), Rule: "pool-layout", Severity: finding.Fact,
		Confidence: finding.Certain, File: "my.cnf",
		Subject: finding.Subject{Variables: []string{"innodb_buffer_pool_chunk_size"}},
		Cause: "MySQL makes a pool of instances, and each of chunks; a size is rounded up to chunk × instances. " +
			"MariaDB from 10.5 on has one instance.",
		Falsify:   "Disproved if information_schema.INNODB_BUFFER_POOL_STATS shows another number of instances.",
		Reference: "MySQL Reference Manual, Configuring InnoDB Buffer Pool Size.",
	}
	if v.MariaDB() {
		if n, ok := number(v, "innodb_buffer_pool_instances"); ok && n > 1 && v.AtLeast(10, 5) {
			f.Title = fmt.Sprintf("innodb_buffer_pool_instances = %d has no effect: MariaDB from 10.5 on has one", n)
			f.Suggestion, f.Cost = "Remove the line from the configuration.", "Nothing."
			f.Evidence = []finding.Evidence{fact("innodb_buffer_pool_instances", float64(n), "", "", source.Variables,
				"innodb_buffer_pool_instances is %d.", n)}
			return []finding.Finding{f}
		}
		return nil
	}
	if now.Chunk == 0 || ask.Size/now.Chunk <= mostChunks {
		return nil
	}
	chunk := round(ask.Size / mostChunks * 2)
	got, err := arith.BufferPool(v.Target.Flavor.Lower(), v.Target.Version,
		arith.Ask{Size: ask.Size, Instances: now.Instances, Chunk: chunk, CPUs: ask.CPUs})
	if err != nil {
		return nil
	}
	f.Title = fmt.Sprintf("the buffer pool has %d chunks of %s", ask.Size/now.Chunk, bytes(now.Chunk))
	f.Evidence = []finding.Evidence{fact("chunks of the pool", float64(ask.Size/now.Chunk), "",
		fmt.Sprintf("≤ %d", mostChunks), source.Variables, "%s ÷ %s = %d chunks in %d instances.",
		bytes(ask.Size), bytes(now.Chunk), ask.Size/now.Chunk, now.Instances)}
	f.Setting, f.Restart = []string{"innodb_buffer_pool_chunk_size = " + size(chunk)}, true
	f.Suggestion = fmt.Sprintf("With chunks of %s there are %d, and the pool becomes %s. It needs a restart.",
		bytes(got.Chunk), got.Size/max(1, got.Chunk), bytes(got.Size))
	f.Cost = "The pool grows and shrinks in larger steps: chunk × instances."
	for _, r := range got.Rules {
		f.Why = append(f.Why, finding.Reason{
			Ask: "What does the server make of it?", Answer: r,
			Source: source.Arithmetic,
		})
	}
	return []finding.Finding{f}
}
