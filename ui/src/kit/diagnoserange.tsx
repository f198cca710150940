// Diagnoses the time that is shown: a range that was picked, or selected on a graph.
import { asError, get, post } from '../core/api'
import { whyNot } from '../core/session'
import { go, href, route } from '../core/url'
import { Button } from './button'
import { useRun } from './run'
import { toast } from './toast'

const shortest = 3 // seconds
const longest = 600

/** A button for a range that is over; it opens the diagnosis, unless something else was opened meanwhile. */
export function DiagnoseRange({ target, from, to }: { target: string; from: number; to: number }) {
  const { busy, run } = useRun()
  const width = to - from
  const why = busy ? 'a diagnosis is running' : width > longest
    ? 'a diagnosis takes 10 minutes at most: select a part on a graph' : width < shortest
    ? 'a diagnosis takes 3 seconds at least' : whyNot()
  const start = () => run(async () => {
    const here = route.value
    const left = () => route.value !== here // the diagnosis is among the findings, and takes nobody there
    try {
      const at = (t: number) => new Date(1000 * t).toISOString()
      let task = await post('diagnose', { target, from: at(from), to: at(to) })
      while (task.state === 'running' && !left()) {
        await new Promise((done) => setTimeout(done, 300))
        task = await get('task', { id: task.id })
      }
      if (left()) return
      if (task.state === 'done' && task.result)
        go(href('findings', { target, diagnosis: task.result }, []))
      else toast(task.error ?? 'The diagnosis was cancelled.', 'bad')
    } catch (e) {
      toast(asError(e).message, 'bad')
    }
  })
  return (
    <Button kind="quiet" icon="findings" why={why} onClick={() => void start()}>
      {busy ? 'Diagnosing…' : 'Diagnose this range'}
    </Button>
  )
}
