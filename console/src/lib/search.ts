/** One thing the search found. */
export interface SearchHit {
  label: string
  hint: string
  href: string
}
