// Work that takes some milliseconds each time and comes in dozens is done in turn: between two portions the page paints
// and answers.

/** How long a portion may take, ms: two of them and a painting fit into what people take for at once. */
const portion = 16

const line: { run: () => void }[] = []
let going = false

/** Does run soon, after what came before; the answer calls it off. */
export function inTurn(run: () => void): () => void {
  const mine = { run }
  line.push(mine)
  if (!going) {
    going = true
    queueMicrotask(some) // the first portion is in the picture that is made now
  }
  return () => {
    const i = line.indexOf(mine)
    if (i >= 0) line.splice(i, 1)
  }
}

function some(): void {
  const end = performance.now() + portion
  const one = () => {
    const next = line.shift()
    if (!next) {
      going = false
      return
    }
    try {
      next.run()
    } catch (e) {
      reportError(e) // one that fails does not keep the others from their turn
    }
    // Plots draw in a microtask of their own, which counts too.
    queueMicrotask(() => (performance.now() < end ? one() : later(some)))
  }
  one()
}

/** Calls f after the browser had its turn. A hidden tab paints nothing, so that it is not waited for. */
function later(f: () => void): void {
  const c = new MessageChannel()
  c.port1.onmessage = f
  c.port2.postMessage(0)
}
