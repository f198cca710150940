// What is pure about logins.

/** The page that a login leads to: one of this page's own, whatever the address says. */
export function nextPage(next: string): string {
  return /^[a-z]*(\?[^#]*)?$/.test(next) && !next.startsWith('login') ? next : ''
}

/** What is wrong with a new password typed twice; '' when nothing is. The server has the last word. */
export function passwordProblem(password: string, again: string): string {
  if ([...password].length < 12) return 'the password needs at least 12 characters'
  if (password !== again) return 'the two passwords differ'
  return ''
}

/** A browser's name out of what it calls itself: "Firefox 131 on Linux"; what is not known is shown as it is. */
export function browserOf(agent: string | undefined): string {
  if (!agent) return '–'
  const found = /(Firefox|Edg|OPR|Chrome|Version)\/(\d+)/.exec(agent.includes('Edg/')
    ? agent.slice(agent.indexOf('Edg/')) : agent.includes('OPR/') ? agent.slice(agent.indexOf('OPR/')) : agent)
  if (!found) return agent.length > 40 ? agent.slice(0, 39) + '…' : agent
  const names: Record<string, string> = { Edg: 'Edge', OPR: 'Opera', Version: 'Safari' }
  const name = names[found[1] ?? ''] ?? found[1] ?? ''
  const os = /Windows|Mac OS X|Android|iPhone|iPad|Linux/.exec(agent)?.[0].replace('Mac OS X', 'macOS')
  return `${name} ${found[2] ?? ''}${os ? ' on ' + os : ''}`
}
