// It runs before everything else. Who looks, and what the figures of a server are, is asked while the scripts are on their way: texts of
// answers by their addresses, undefined where there is none.
;(function () {
  var api = './api/dyno/v1/'
  var early = (window.dynoEarly = {})
  // Asks for a path when the answer before lets it.
  function ask(path, before, may) {
    return (early[api + path] = before
      .then(function (text) {
        if (may(text && JSON.parse(text)))
          return fetch(api + path, { cache: 'no-store' }).then(function (r) {
            return r.text().then(function (t) {
              return r.ok ? t : undefined
            })
          })
      })
      .catch(function () {}))
  }
  var session = ask('session', Promise.resolve(), function () {
    return true
  })
  var q = new URLSearchParams(location.search)
  var target = q.get('target')
  var from = q.get('from') || '-1h'
  // The usual view only, as asked.ts has it; nothing is asked for by nobody, or of what there is not.
  if (!/\/server$/.test(location.pathname) || !target || !/^-(?=\d)(\d+w)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?$/.test(from) || (q.get('to') || 'now') !== 'now' || q.get('panel') || q.get('compare')) return
  var targets = ask('targets', session, function (who) {
    return who && who.name
  })
  ask('graphs?' + new URLSearchParams({ target: target, from: from, to: 'now', points: '360' }), targets, function (all) {
    return all && all.targets.some(function (t) {
      return t.name === target
    })
  })
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
