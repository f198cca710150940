import { health } from '../core/health'
import { Notice } from './state'
import { safe } from './sqltext'

/** What is wrong with Dyno itself, on every page: the worst, and the rest behind it. */
export function Health() {
  const [first, ...rest] = health.value
  if (!first) return null
  return (
    <Notice tone={first.severity === 'bad' ? 'bad' : 'warn'}>
      <div class="health">
        <p><b>{safe(first.text)}</b> {first.fix && <span class="dim">{safe(first.fix)}</span>}</p>
        {rest.length > 0 && (
          <details>
            <summary>{rest.length === 1 ? '1 more problem' : `${rest.length} more problems`} with Dyno itself</summary>
            <ul>
              {rest.map((t) => (
                <li key={t.kind + t.text}>{safe(t.text)} {t.fix && <span class="dim">{safe(t.fix)}</span>}</li>
              ))}
            </ul>
          </details>
        )}
      </div>
    </Notice>
  )
}
