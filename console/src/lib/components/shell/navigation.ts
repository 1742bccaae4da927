import CalendarClock from '@lucide/svelte/icons/calendar-clock'
import Import from '@lucide/svelte/icons/import'
import KeyRound from '@lucide/svelte/icons/key-round'
import Layers from '@lucide/svelte/icons/layers'
import LayoutDashboard from '@lucide/svelte/icons/layout-dashboard'
import List from '@lucide/svelte/icons/list'
import Settings from '@lucide/svelte/icons/settings'
import type { Component } from 'svelte'

export interface Section {
  label: string
  /** Below the project's base path; empty for the overview. */
  path: string
  /** The second key after `g`. */
  key: string
  icon: Component<{ size?: number | string; class?: string }>
  /** Not among the five of a narrow screen: found there by the search, and by links. */
  isWideOnly?: boolean
}

export const sections: readonly Section[] = [
  { label: 'Overview', path: '', key: 'o', icon: LayoutDashboard },
  { label: 'Jobs', path: '/jobs', key: 'j', icon: CalendarClock },
  { label: 'Imports', path: '/imports', key: 'i', icon: Import, isWideOnly: true },
  { label: 'Runs', path: '/runs', key: 'r', icon: List },
  { label: 'Operations', path: '/operations', key: 'p', icon: Layers, isWideOnly: true },
  { label: 'API keys', path: '/keys', key: 'k', icon: KeyRound },
  { label: 'Settings', path: '/settings', key: 's', icon: Settings },
]

/** Whether a section is where the reader is; the overview only when nothing is below it. */
export function isCurrent(section: Section, base: string, pathname: string): boolean {
  const path = base + section.path
  return section.path === '' ? pathname === path : pathname === path || pathname.startsWith(`${path}/`)
}
