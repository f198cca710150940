// What a person types as the address of a server, as a TARGET.

/** A TARGET of an address: a URL as it is, a path of a socket, or host and port. '' while it is none. */
export function toURL(address: string, user: string): string {
  const a = address.trim()
  const u = user.trim()
  if (a === '') return ''
  if (a.includes('://')) return a
  if (a.startsWith('/'))
    return 'unix://' + encodeURI(a).replace(/[?#]/g, encodeURIComponent) +
    (u === '' ? '' : '?user=' + encodeURIComponent(u))
  if (/[\s/?#]/.test(a)) return ''
  return 'mysql://' + (u === '' || a.includes('@') ? '' : encodeURIComponent(u) + '@') + a + '/'
}

const exporterOf = /[?&]node-exporter=([^&]*)/i

/** A TARGET with the URL of a node_exporter of its machine. */
export function withExporter(target: string, exporter: string): string {
  const x = exporter.trim()
  if (target === '' || x === '') return target
  return target + (target.includes('?') ? '&' : '?') + 'node-exporter=' +
    encodeURIComponent(x).replace(/%(2F|3A|5B|5D|2C|40)/g, decodeURIComponent)
}

/** A TARGET without the URL of its node_exporter, and that; '' for none. */
export function withoutExporter(target: string): [target: string, exporter: string] {
  const m = exporterOf.exec(target)
  if (!m) return [target, '']
  const before = target.slice(0, m.index)
  const after = target.slice(m.index + m[0].length)
  const rest = before.includes('?') ? before + after : before + after.replace(/^&/, '?')
  try {
    return [rest, decodeURIComponent(m[1] ?? '')]
  } catch {
    return [target, '']
  }
}

/** Whether it holds a password: such an address is not even sent. */
export function hasPassword(address: string): boolean {
  const a = address.trim()
  const rest = a.includes('://') ? a.slice(a.indexOf('://') + 3) : a
  const authority = rest.split(/[/?]/)[0] ?? ''
  const at = authority.lastIndexOf('@')
  return (at >= 0 && /:./.test(authority.slice(0, at))) || /[?&](password|pass|pwd)=[^&]/i.test(a)
}

/** A name for a server: of its host, or its socket. */
export function nameFor(address: string): string {
  const a = address.trim().replace(/^\w+:\/\//, '').replace(/\?.*$/, '')
  const path = a.startsWith('/')
  const part = path ? (a.split('/').pop() ?? '').replace(/\.sock(et)?$/, '')
    : (a.split('/')[0] ?? '').replace(/^.*@/, '').replace(/:\d+$/, '')
  const short = /^[\d.]+$/.test(part) || part.startsWith('[') ? part : (part.split('.')[0] ?? '')
  return short.replace(/[^\w.-]+/g, '-').replace(/^-+|-+$/g, '')
}

/** Whether an address is that of a PostgreSQL. */
export function isPostgresURL(address: string): boolean {
  return /^postgres(ql)?(\+\w+)?:/i.test(address.trim())
}
