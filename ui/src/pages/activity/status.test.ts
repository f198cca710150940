import { expect, test } from 'vitest'
import { sections } from './status'

const status = `
=====================================
2026-11-22 03:00:00 0x7f INNODB MONITOR OUTPUT
=====================================
Per second averages calculated from the last 5 seconds
-----------------
BACKGROUND THREAD
-----------------
srv_master_thread loops: 1
----------
SEMAPHORES
----------
------------
TRANSACTIONS
------------
Trx id counter 5
---TRANSACTION 4, ACTIVE 3 sec
mysql tables in use 1, locked 1
------- TRX HAS BEEN WAITING 3 SEC FOR THIS LOCK TO BE GRANTED:
RECORD LOCKS space id 1
------------------
---TRANSACTION 3, ACTIVE 9 sec
----------------------------
END OF INNODB MONITOR OUTPUT
============================
`

test('sections as the server wrote them', () => {
  const s = sections(status)
  expect(s.map((x) => x.title)).toEqual(
    ['2026-11-22 03:00:00 0x7f INNODB MONITOR OUTPUT', 'BACKGROUND THREAD', 'SEMAPHORES', 'TRANSACTIONS'])
  expect(s[0]?.text).toBe('Per second averages calculated from the last 5 seconds')
  expect(s[2]?.text).toBe('')
  expect(s[3]?.text).toContain('TRX HAS BEEN WAITING')
  expect(s[3]?.text).toContain('---TRANSACTION 3')
})

test('any text', () => {
  expect(sections('')).toEqual([])
  expect(sections('just words')).toEqual([{ title: '', text: 'just words' }])
  expect(sections('---\n---\n---').length).toBeLessThan(2)
})
