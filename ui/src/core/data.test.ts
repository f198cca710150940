import { describe, expect, it } from 'vitest'
import { ApiError } from './api'
import { begun } from './data'

const error = new ApiError(404, 'not_found', 'no')

describe('begun', () => {
  it('keeps what there is of the same key, also what went wrong', () => {
    expect(begun({ key: 'a', value: 1, error, loading: false, at: 7 }, 'a', false)).toEqual(
      { key: 'a', value: 1, error, loading: true, at: 7 })
  })
  it('says nothing of a new key that was said of the old one', () => {
    expect(begun({ key: 'a', value: 1, error, loading: false, at: 7 }, 'b', false)).toEqual({ key: 'b', loading: true })
    expect(begun({ key: 'a', value: 1, error, loading: false, at: 7 }, 'b', true)).toEqual(
      { key: 'b', value: 1, error: undefined, loading: true, at: 7 })
  })
})
