// The last hour of the classes that a finding is about.

/** Its values, or what is to be said in their place. */
type Course = (number | null)[] | string

export interface Courses {
  classes: { id: string; line?: { values: (number | null)[] } }[]
  coverage: { classes?: number }
}

/** Whether an answer that holds the classes with most time left a class out: it may have run all the same. */
export function beyond(all: Courses | undefined, id: string): boolean {
  return all !== undefined && (all.coverage.classes ?? 0) > all.classes.length && !all.classes.some((x) => x.id === id)
}

/** The course of a class in an answer that would hold it if there were one. */
export function courseIn(all: Courses | undefined, id: string, loading: boolean): Course {
  if (all === undefined) return loading ? 'loading the trend …' : 'the trend cannot be read now'
  const values = all.classes.find((x) => x.id === id)?.line?.values ?? []
  return values.some((v) => v !== null) ? values : 'no trend for the last hour'
}
