import { expect, test } from 'vitest'
import { address } from './core/api'
import { asks, wanted } from './pages/server/asked'
import source from './theme.js?raw'

// run is theme.js at an address of the page; the answer is what it asks for.
async function run(path: string, search: string, name = 'local'): Promise<string[]> {
  const asked: string[] = []
  const fetch = (url: string) => {
    asked.push(url)
    const body = url === address('session') ? { name } : url === address('targets') ? { targets: [{ name: 'shop' }, { name: 'a &b' }] } : {}
    return Promise.resolve(new Response(JSON.stringify(body)))
  }
  const window: { dynoEarly?: Record<string, Promise<string | undefined>> } = {}
  const none = () => {}
  new Function('window', 'fetch', 'location', 'matchMedia', 'localStorage', 'document', 'addEventListener', source)(
    window, fetch, { pathname: path, search }, () => ({ matches: false, addEventListener: none }), { getItem: () => null }, { documentElement: { dataset: {} } }, none,
  )
  await Promise.all(Object.values(window.dynoEarly ?? {}))
  expect(Object.keys(window.dynoEarly ?? {})).toEqual(expect.arrayContaining(asked)) // each under its address
  return asked
}

test('the figures of a server are asked for as the page will ask', async () => {
  const session = address('session')
  for (const search of ['?target=shop', '?target=a%20%26b&from=-24h', '?from=-1h30m&target=shop&to=now']) {
    expect(await run('/behind/server', search)).toEqual([session, address('targets'), address('graphs', asks(wanted(new URLSearchParams(search))))])
  }
  expect(await run('/server', '?target=nosuch')).toEqual([session, address('targets')])
  expect(await run('/server', '?target=shop', '')).toEqual([session]) // a login comes first
  for (const [path, search] of [['/server', ''], ['/now', '?target=shop'], ['/server', '?target=shop&panel=cpu'], ['/server', '?target=shop&compare=1d'], ['/server', '?target=shop&from=100&to=200'], ['/server', '?target=shop&from=-30m1h']] as const)
    expect(await run(path, search)).toEqual([session])
})
