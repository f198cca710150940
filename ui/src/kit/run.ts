// Something that a press of a button does, with what went wrong.
import { useState } from 'preact/hooks'
import { asError, type ApiError } from '../core/api'

interface Run {
  busy: boolean
  error: ApiError | undefined // of the newest try
  forget(): void // the error
  /** Does it, unless it is being done. True when it was done. */
  run(f: () => Promise<unknown>): Promise<boolean>
}

/** Does one thing at a time. */
export function useRun(): Run {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError>()
  return {
    busy, error, forget: () => setError(undefined),
    run: async (f) => {
      if (busy) return false
      setBusy(true)
      setError(undefined)
      try {
        await f()
        return true
      } catch (e) {
        setError(asError(e))
        return false
      } finally {
        setBusy(false)
      }
    },
  }
}
