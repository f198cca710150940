// Icons: 16 × 16, drawn with one stroke in the colour of the text. They accompany words and are not read aloud.
const paths = {
  fleet: 'M2 3.5h5v4H2zM9 3.5h5v4H9zM2 9.5h5v4H2zM9 9.5h5v4H9z',
  server: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01',
  activity: 'M8 2.5a5.5 5.5 0 1 1-5.2 3.7M8 5v3.2l2.2 1.3M2.5 2.8v3.4h3.4', queries: 'M2.5 4h11M2.5 8h7M2.5 12h4',
  findings: 'M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.3 10.3l3.2 3.2',
  explorer: 'M2.5 2.5v11h11M4.8 10.5l2.7-4 2.3 2.2 3.4-5',
  changes: 'M4 2.5v11M4 5.5h4a3 3 0 0 1 3 3v1.2M11 13.5a1.9 1.9 0 1 0 0-3.8 1.9 1.9 0 0 0 0 3.8z',
  experiments: 'M6 2.5h4M6.8 2.5v4L3.2 12.3a.8.8 0 0 0 .7 1.2h8.2a.8.8 0 0 0 .7-1.2L9.2 6.5v-4M5 10h6',
  overhead: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 2.5V8l4 3.8',
  settings: 'M2.5 4.5h6M11.5 4.5h2M10 3v3M2.5 8h2M7.5 8h6M6 6.5v3M2.5 11.5h5M10.5 11.5h3M9 10v3',
  search: 'M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.3 10.3l3.2 3.2',
  sun: 'M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M12.6 ' +
    '3.4l-.7.7M4.1 11.9l-.7.7',
  moon: 'M13.3 9.6A5.6 5.6 0 0 1 6.4 2.7a5.6 5.6 0 1 0 6.9 6.9z', system: 'M2 3h12v8H2zM6 13.5h4M8 11v2.5',
  good: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM5.3 8.2l1.9 1.9 3.5-4',
  bad: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM5.9 5.9l4.2 4.2M10.1 5.9l-4.2 4.2',
  warn: 'M8 2.3L14.3 13.3H1.7zM8 6.5v3M8 11.5h.01', info: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM8 7.5v3.5M8 5.2h.01',
  unknown: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM6.2 6.4a1.8 1.8 0 1 1 2.6 1.6c-.6.3-.8.6-.8 1.2M8 11.3h.01',
  close: 'M4 4l8 8M12 4l-8 8', copy: 'M5.5 5.5h8v8h-8zM3 10.5h-.5v-8h8V3', check: 'M3 8.5l3.3 3.3L13 5',
  down: 'M4 6l4 4 4-4', up: 'M4 10l4-4 4 4', right: 'M6 4l4 4-4 4', left: 'M10 4L6 8l4 4', play: 'M5 3l8 5-8 5z',
  pause: 'M5 3v10M11 3v10', stop: 'M4 4h8v8H4z', plus: 'M8 3v10M3 8h10', minus: 'M3 8h10',
  undo: 'M5.5 3L2.5 6l3 3M2.5 6h7a4 4 0 0 1 0 8H6',
  user: 'M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8zM2.8 13.5a5.2 5.2 0 0 1 10.4 0',
  lock: 'M4 7h8v6.5H4zM5.5 7V5a2.5 2.5 0 0 1 5 0v2',
  link: 'M6.5 9.5l3-3M7 4.5l1.3-1.3a2.9 2.9 0 0 1 4.1 4.1L11 8.7M9 11.5l-1.3 1.3a2.9 2.9 0 0 1-4.1-4.1L5 7.3',
  external: 'M9 2.5h4.5V7M13.5 2.5L7.5 8.5M6 3.5H2.5v10h10V10', reload: 'M13 8a5 5 0 1 1-1.5-3.6L13.5 6M13.5 2.5V6H10',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01', flag: 'M3.5 14V2.5h8.5l-2 3 2 3H3.5',
  keyboard: 'M1.5 4h13v8h-13zM4 6.5h.01M6.7 6.5h.01M9.3 6.5h.01M12 6.5h.01M5 9.5h6',
  table: 'M2.5 3h11v10h-11zM2.5 6.5h11M2.5 9.8h11M6.5 3v10',
  calendar: 'M2.5 3.5h11v10h-11zM2.5 6.5h11M5.5 2v3M10.5 2v3',
} as const

export type IconName = keyof typeof paths

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false" fill="none"
      stroke="currentColor" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round">
      <path d={paths[name]} />
    </svg>
  )
}
