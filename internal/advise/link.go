package advise

import (
	"slices"

	"dyno/internal/finding"
)

// effects tells by kind of symptom which effect it measures; a kind that is called as its effect is not listed.
func effects(kind string) []string {
	switch kind {
	case "cpu-saturated", "rnd-next":
		return []string{EffectCPU}
	case "io-wait":
		return []string{EffectDiskReads, EffectDiskWrites, EffectFsyncs}
	case "slow-reads":
		return []string{EffectDiskReads, EffectPoolMisses}
	case "lock-queue", "lock-waiting":
		return []string{EffectRowLocks, EffectMetadata}
	case "old-versions":
		return []string{EffectHistory}
	}
	return []string{kind}
}

// Link adds to every finding the symptoms that it accounts for: those about one of its classes, and those that measure an effect which it
// explains or rests upon. A reader can then see which symptoms nobody explains.
func Link(findings []finding.Finding, symptoms []finding.Symptom) {
	for i := range findings {
		f := &findings[i]
		if f.Severity == finding.Info {
			continue
		}
		for _, s := range symptoms {
			about := slices.Contains(f.Subject.Classes, s.Subject)
			for _, e := range effects(s.Kind) {
				about = about || slices.Contains(f.Explains, e) || slices.Contains(f.Rests, e)
			}
			if about && s.Kind != "not-observable" && !slices.Contains(f.Symptoms, s.ID) {
				f.Symptoms = append(slices.Clip(f.Symptoms), s.ID)
			}
		}
	}
}
