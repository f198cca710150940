// The theme before the first paint: what was chosen here, else what the system has. It runs before everything else.
;(function () {
  var dark = matchMedia('(prefers-color-scheme: dark)')
  function set() {
    var chosen = null
    try {
      chosen = localStorage.getItem('dyno-theme')
    } catch (e) {}
    document.documentElement.dataset.theme =
      chosen === 'light' || chosen === 'dark' ? chosen : dark.matches ? 'dark' : 'light'
  }
  set()
  dark.addEventListener('change', set)
  addEventListener('storage', set)
  addEventListener('dyno-theme', set)
})()
