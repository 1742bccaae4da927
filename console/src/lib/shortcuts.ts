/** Every keyboard shortcut, once: the sheet lists them and the shell obeys them. */
export const shortcuts = [
  {
    title: 'Anywhere',
    keys: [
      { press: '/', does: 'Search jobs, runs and pages' },
      { press: '?', does: 'Show this sheet' },
      { press: 'g o', does: 'Go to the overview' },
      { press: 'g j', does: 'Go to jobs' },
      { press: 'g r', does: 'Go to runs' },
      { press: 'g a', does: 'Go to calendars' },
      { press: 'g i', does: 'Go to imports' },
      { press: 'g p', does: 'Go to operations' },
      { press: 'g k', does: 'Go to API keys' },
      { press: 'g s', does: 'Go to settings' },
      { press: 'c', does: 'Create a job' },
    ],
  },
  {
    title: 'In a list',
    keys: [
      { press: 'j', does: 'Next row' },
      { press: 'k', does: 'Previous row' },
      { press: 'Enter', does: 'Open the row' },
      { press: 'Escape', does: 'Close what is open' },
    ],
  },
] as const

/** Whether a key press belongs to what the person is writing in, and not to the page. */
export function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || target.matches('input, textarea, select, [role="combobox"], [role="listbox"] *')
}

/** Whether a press carries a modifier that gives it to the browser. */
export const isChord = (event: KeyboardEvent): boolean => event.ctrlKey || event.metaKey || event.altKey

/**
 * Moves the focus among a list's rows: `j` forward, `k` back. Rows are the links or buttons marked `data-row`, so
 * a row that was reached opens with Enter like any link.
 */
export function moveRow(list: ParentNode, key: string): boolean {
  if (key !== 'j' && key !== 'k') return false
  const rows = [...list.querySelectorAll<HTMLElement>('[data-row]')].filter((row) => row.offsetParent !== null)
  const active = document.activeElement
  const at = active instanceof HTMLElement ? rows.indexOf(active) : -1
  const next = rows[at < 0 ? 0 : Math.min(Math.max(at + (key === 'j' ? 1 : -1), 0), rows.length - 1)]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
  return next !== undefined
}
