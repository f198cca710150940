// The text of SHOW ENGINE INNODB STATUS, cut into its sections.

interface Section { title: string; text: string }

/**
 * Cuts at headings: a line between two lines of dashes. What stands before the first one has the title ''. Nothing is
 * lost but dashes.
 */
export function sections(text: string): Section[] {
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  const out: Section[] = []
  let title = ''
  let body: string[] = []
  const end = () => {
    const t = body.join('\n').replace(/^\n+|\s+$/g, '')
    if (title !== '' || t !== '') out.push({ title, text: t })
    body = []
  }
  const rule = (s: string | undefined) => s !== undefined && /^[-=]{3,}\s*$/.test(s)
  for (let i = 0; i < lines.length; i++) {
    const head = lines[i + 1]
    // The top and the end stand between lines of =.
    if (rule(lines[i]) && head !== undefined && !rule(head) && /^[A-Z0-9]/.test(head) && head.length < 80 &&
      rule(lines[i + 2])) {
      end()
      title = head.trim()
      i += 2
    } else body.push(lines[i] ?? '')
  }
  end()
  return out.filter((s) => !(s.title === '' && s.text === '') && !/^END OF INNODB MONITOR/.test(s.title))
}
