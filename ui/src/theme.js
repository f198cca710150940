// It runs before everything else. Who looks, and what the figures of a server are, is asked while the scripts are on their way; the answers
// are under the addresses that were asked.
;(function () {
  var api = './api/dyno/v1/'
  var plain = { cache: 'no-store' }
  function none() {}
  var session = fetch(api + 'session', plain).catch(none)
  var early = (window.dynoEarly = {})
  early[api + 'session'] = session
  var q = new URLSearchParams(location.search)
  var target = q.get('target')
  var from = q.get('from') || '-1h'
  // The usual view only, as asked.ts has it; nothing is asked for by nobody.
  if (!/\/server$/.test(location.pathname) || !target || !/^-(?=\d)(\d+w)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?$/.test(from) || (q.get('to') || 'now') !== 'now' || q.get('panel') || q.get('compare')) return
  var graphs = api + 'graphs?' + new URLSearchParams({ target: target, from: from, to: 'now', points: '360' })
  early[graphs] = session
    .then(function (r) {
      return r && r.ok ? r.clone().json() : {}
    })
    .then(function (who) {
      if (who.name) return fetch(graphs, plain)
    })
    .catch(none)
})()
// The theme before the first paint: what was chosen here, else what the system has.
;(function () {
  var dark = matchMedia('(prefers-color-scheme: dark)')
  function set() {
    var chosen = null
    try {
      chosen = localStorage.getItem('dyno-theme')
    } catch (e) {}
    document.documentElement.dataset.theme = chosen === 'light' || chosen === 'dark' ? chosen : dark.matches ? 'dark' : 'light'
  }
  set()
  dark.addEventListener('change', set)
  addEventListener('storage', set)
  addEventListener('dyno-theme', set)
})()
