import { setParams, useParam, useTarget } from '../../core'
import { Button, Page } from '../../kit'
import { Compare } from './compare'
import { Detail } from './detail'
import { List } from './list'
import './queries.css'

export function QueriesPage() {
  const [id] = useParam('class')
  const [comparing] = useParam('before')
  const [from] = useParam('before_from')
  const two = comparing !== '' || from !== ''
  return (
    <Page title="Queries" target range actions={
        <Button small pressed={two} onClick={() =>
          setParams(two ? { before: null, before_from: null, before_to: null,
          ...(comparing === 'halves' ? { from: null, to: null } : {}) } : { before: 'previous', class: null })}>
          Compare two periods
        </Button>
      }>
      <Content id={id} two={two} />
    </Page>
  )
}

export default QueriesPage

function Content({ id, two }: { id: string; two: boolean }) {
  const [target] = useTarget()
  if (id !== '') return <Detail key={target + '\n' + id} target={target} id={id} />
  return two ? <Compare key={target} target={target} /> : <List key={target} target={target} />
}
