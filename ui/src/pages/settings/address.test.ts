import { expect, test } from 'vitest'
import { hasPassword, nameFor, toURL, withExporter, withoutExporter } from './address'
import { flavorOf, script } from './words'

test('an address becomes a TARGET', () => {
  const f = (address: string, user: string, want: string) => expect(toURL(address, user), address).toBe(want)
  f('', 'x', '')
  f('db1', '', 'mysql://db1/')
  f('db1:3307', 'dyno', 'mysql://dyno@db1:3307/')
  f(' 10.0.0.5 ', "o'h@ra/x", "mysql://o'h%40ra%2Fx@10.0.0.5/")
  f('[::1]:3306', 'dyno', 'mysql://dyno@[::1]:3306/')
  f('joe@db1', 'dyno', 'mysql://joe@db1/')
  f('/run/mysqld/mysqld.sock', 'root', 'unix:///run/mysqld/mysqld.sock?user=root')
  f('/tmp/a b?c.sock', '', 'unix:///tmp/a%20b%3Fc.sock')
  f('mysql://u@h:1/db?tls=required', 'ignored', 'mysql://u@h:1/db?tls=required')
  f('two words', '', '')
})

test('a password is seen before anything is sent', () => {
  const f = (address: string, want: boolean) => expect(hasPassword(address), address).toBe(want)
  f('mysql://u:secret@h/', true)
  f('u:secret@h', true)
  f('unix:///s?user=u&password=x', true)
  f('mysql://u@h:3306/', false)
  f('mysql://u:@h/', false)
  f('db1:3306', false)
  f('[::1]:3306', false)
  f('unix:///s?user=u&password=', false)
  f('', false)
})

test('a node_exporter is a part of the TARGET', () => {
  const f = (target: string, exporter: string, want: string) => {
    expect(withExporter(target, exporter)).toBe(want)
    expect(withoutExporter(want)).toEqual([target, exporter])
  }
  f('mysql://db1/', 'http://db1:9100/metrics', 'mysql://db1/?node-exporter=http://db1:9100/metrics')
  f('mysql://db1/?tls=required', 'http://[::1]/m?a=b&c',
    'mysql://db1/?tls=required&node-exporter=http://[::1]/m%3Fa%3Db%26c')
  f('mysql://db1/?tls=required', '', 'mysql://db1/?tls=required')
  expect(withExporter('', 'http://db1:9100')).toBe('')
  expect(withoutExporter('mysql://h/?node-exporter=http://x&tls=required'))
    .toEqual(['mysql://h/?tls=required', 'http://x'])
  expect(hasPassword('http://u:secret@h:9100')).toBe(true)
})

test('a name is suggested', () => {
  const f = (address: string, want: string) => expect(nameFor(address), address).toBe(want)
  f('db1.example.com:3306', 'db1')
  f('mysql://u@shop-db.internal:3306/x', 'shop-db')
  f('10.0.0.5:3306', '10.0.0.5')
  f('/run/mysqld/mysqld.sock', 'mysqld')
  f('unix:///tmp/a b.socket?user=x', 'a-b')
  f('[::1]:3306', '1')
  f('', '')
})

test('statements become one script', () => {
  expect(script(['A', 'B;', 'C; '])).toBe('A;\nB;\nC;')
  expect(flavorOf('mariadb 10.11.19')).toBe('mariadb')
  expect(flavorOf('oracle 9')).toBe('')
  expect(flavorOf(undefined)).toBe('')
})
