import CalendarClock from '@lucide/svelte/icons/calendar-clock'
import CalendarDays from '@lucide/svelte/icons/calendar-days'
import ChartColumn from '@lucide/svelte/icons/chart-column'
import Gauge from '@lucide/svelte/icons/gauge'
import Import from '@lucide/svelte/icons/import'
import KeyRound from '@lucide/svelte/icons/key-round'
import Layers from '@lucide/svelte/icons/layers'
import LayoutDashboard from '@lucide/svelte/icons/layout-dashboard'
import List from '@lucide/svelte/icons/list'
import MailX from '@lucide/svelte/icons/mail-x'
import Settings from '@lucide/svelte/icons/settings'
import Timer from '@lucide/svelte/icons/timer'
import Unplug from '@lucide/svelte/icons/unplug'
import type { Component } from 'svelte'

export interface Section {
  label: string
  /** Below the project's base path; empty for the overview. */
  path: string
  /** The second key after `g`. */
  key: string
  icon: Component<{ size?: number | string; class?: string }>
  /** One of those that a narrow screen shows at once; the others are behind `More` there. */
  isFirst?: boolean
  /** Pages beside it that belong to the section as well. */
  also?: readonly { label: string; path: string }[]
}

export const sections: readonly Section[] = [
  { label: 'Overview', path: '', key: 'o', icon: LayoutDashboard, isFirst: true },
  { label: 'Jobs', path: '/jobs', key: 'j', icon: CalendarClock, isFirst: true },
  { label: 'Runs', path: '/runs', key: 'r', icon: List, isFirst: true },
  {
    label: 'Queues',
    path: '/queues',
    key: 'q',
    icon: Gauge,
    also: [
      { label: 'Limits', path: '/limits' },
      { label: 'Fairness', path: '/fairness' },
    ],
  },
  { label: 'Dead letters', path: '/dead-letters', key: 'd', icon: MailX },
  { label: 'Forecast', path: '/forecast', key: 'f', icon: ChartColumn, isFirst: true },
  {
    label: 'Calendars',
    path: '/calendars',
    key: 'a',
    icon: CalendarDays,
    also: [
      { label: 'Blackouts', path: '/blackouts' },
      { label: 'Time zones', path: '/time-zones' },
    ],
  },
  { label: 'Breakers', path: '/breakers', key: 'b', icon: Unplug },
  { label: 'Imports', path: '/imports', key: 'i', icon: Import },
  { label: 'Operations', path: '/operations', key: 'p', icon: Layers },
  { label: 'Test clock', path: '/test-clocks', key: 't', icon: Timer },
  { label: 'API keys', path: '/keys', key: 'k', icon: KeyRound },
  { label: 'Settings', path: '/settings', key: 's', icon: Settings },
]

/** Whether a section is where the reader is; the overview only when nothing is below it. */
export function isCurrent(section: Section, base: string, pathname: string): boolean {
  if (section.path === '') return pathname === base
  const isBelow = (path: string) => pathname === base + path || pathname.startsWith(`${base}${path}/`)
  return isBelow(section.path) || (section.also ?? []).some(({ path }) => isBelow(path))
}
