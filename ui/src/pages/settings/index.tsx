import { inventory, useGet, useParam } from '../../core'
import { Notice, Page, Show, Tabs, safe } from '../../kit'
import { About } from './about'
import { Retention } from './retention'
import { Targets } from './targets'
import { Users } from './users'
import './settings.css'

export function SettingsPage() {
  const [tab] = useParam('tab', 'targets')
  const settings = useGet('settings', {}, { every: 15000 })
  return (
    <Page title="Settings">
      <Tabs label="Settings" items={[
          { key: 'targets', name: 'Targets', count: inventory.value.list?.length ?? null },
          { key: 'retention', name: 'Retention' },
          { key: 'users', name: 'Users' },
          { key: 'about', name: 'About' },
        ]} />
      {settings.value?.warnings.map((w) => <Notice key={w} tone="warn">{safe(w)}</Notice>)}
      {tab === 'users' ? <Users /> : tab === 'retention' || tab === 'about' ? (
        <Show of={settings} lines={6} what="The settings">
          {(v) => (tab === 'about' ? <About s={v} /> : <Retention s={v} reload={settings.reload} />)}
        </Show>
      ) : <Targets settings={settings} />}
    </Page>
  )
}

export default SettingsPage
