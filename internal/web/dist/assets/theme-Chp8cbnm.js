window.dynoSession = fetch('./api/dyno/v1/session', { cache: 'no-store' }).catch(function () {})
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
