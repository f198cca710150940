import { beforeEach, describe, expect, it } from 'vitest'
import { lostTasks, rememberTask, runningTasks, tasks } from './tasks'
import type { Task } from './openapi.gen'

const task = (id: string, o: Partial<Task> = {}): Task =>
  ({ id, kind: 'diagnose', title: 'Diagnose shop', state: 'running', started: '2026-11-03T12:00:00Z', ...o })
const found = (id: string) => tasks.value.find((t) => t.id === id)

beforeEach(() => lostTasks(runningTasks()))

describe('lostTasks', () => {
  it('ends what ran, and nothing else', () => {
    rememberTask(task('runs'))
    rememberTask(task('went', { state: 'done', result: 'd-1' }))
    expect(runningTasks()).toEqual(['runs'])
    lostTasks(['runs', 'went', 'never heard of'])
    expect(found('runs')).toMatchObject(
      { state: 'failed', error: 'Dyno was restarted meanwhile', hint: 'The journal shows how far it got.' })
    expect(found('went')).toEqual(task('went', { state: 'done', result: 'd-1' }))
    expect(runningTasks()).toEqual([])
  })
  it('believes no older message afterwards', () => {
    rememberTask(task('late'))
    lostTasks(['late'])
    rememberTask(task('late', { step: 'reading' }))
    expect(found('late')?.state).toBe('failed')
  })
})

describe('rememberTask', () => {
  it('forgets the oldest that ended, and none that runs', () => {
    rememberTask(task('old and running', { started: '2026-11-01T00:00:00Z' }))
    for (let i = 0; i < 150; i++) rememberTask(
      task(`t${i}`, { state: 'done', started: new Date(Date.UTC(2026, 10, 4) + 1000 * i).toISOString() }))
    expect(tasks.value).toHaveLength(101)
    expect([found('t49'), found('t50')?.id, found('t149')?.id, found('old and running')?.state]).toEqual(
      [undefined, 't50', 't149', 'running'])
  })
})
