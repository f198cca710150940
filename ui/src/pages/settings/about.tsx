// What this Dyno is, where it keeps things, and where samples go besides.
import { ago, seconds, span, text } from '../../core'
import { Badge, Copy, Figure, safe } from '../../kit'
import type { Settings } from '../../core/openapi.gen'

export function About({ s }: { s: Settings }) {
  const cores = s.process.cpu_seconds !== undefined && s.process.uptime_seconds > 0
    ? s.process.cpu_seconds / s.process.uptime_seconds : undefined
  const prometheus = `http://${s.listen ?? location.host}`
  return (
    <div class="stack loose">
      <div class="figures">
        <Figure label="Uptime" value={s.process.uptime_seconds} unit="s" note={`process ${s.process.pid}`} />
        <Figure label="Memory" value={s.process.memory_bytes} unit="B" note="resident" />
        <Figure label="CPU" value={cores} unit="cores" note="mean since start" />
        <Figure label="Written to disk" value={s.process.wrote_bytes} unit="B" note="since start" />
      </div>
      <dl class="facts">
        <dt>Version</dt>
        <dd>{s.version}</dd>
        <dt>Listening on</dt>
        <dd><code>{s.listen ?? '–'}</code></dd>
        <dt>Data directory</dt>
        <dd><code>{s.home}</code></dd>
        <dt>Sampling interval</dt>
        <dd>{span(s.every_seconds)}</dd>
      </dl>
      <section class="stack">
        <h2>Integrations</h2>
        <p>
          Grafana: add a Prometheus data source with the URL <code>{prometheus}
          </code> <Copy text={prometheus} bare label="Copy the URL" />. Prometheus can scrape <code>/metrics</code>
            . The API
          is described by <a class="in-text" href="./api/dyno/v1/openapi.yaml" download="openapi.yaml">openapi.yaml</a>.
        </p>
        {s.remote_writes.length === 0 ? (
          <p class="dim">
            Samples are not sent anywhere; <code>--remote-write
            </code> sends them to Prometheus, VictoriaMetrics or Mimir.
          </p>
        ) : (
          <ul class="stack">
            {s.remote_writes.map((w) => (
              <li key={w.to} class="row wrap">
                {w.failing_since ? <Badge tone="bad">failing</Badge> : <Badge tone="good">sending</Badge>}
                <code>{w.to}</code>
                <span class="dim">
                  {text(w.samples, '')} samples, up to {w.acked ? ago(seconds(w.acked)) : 'nothing yet'}
                </span>
                {w.error && <span class="tone-bad">{safe(w.error)}</span>}
              </li>
            ))}
          </ul>
        )}
      </section>
    </div>
  )
}
