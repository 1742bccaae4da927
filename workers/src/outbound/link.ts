/** A member of a ring of links: in and out of a queue in constant time, with no node besides the member itself. */
export class Link {
  before: Link = this
  after: Link = this

  /** Whether it is in no ring but its own. */
  get isAlone(): boolean {
    return this.after === this
  }

  /** Takes the link out of whatever ring it is in. Harmless when it is in none. */
  unlink(): void {
    this.before.after = this.after
    this.after.before = this.before
    this.before = this
    this.after = this
  }

  /** Takes the first one out of the ring that starts at this one. */
  takeNext(): Link {
    const next = this.after
    next.unlink()
    return next
  }

  /** Puts a link at the end of the ring that starts at this one. */
  append(link: Link): void {
    link.before = this.before
    link.after = this
    this.before.after = link
    this.before = link
  }

  /** Puts a link at the front of the ring that starts at this one. */
  prepend(link: Link): void {
    link.before = this
    link.after = this.after
    this.after.before = link
    this.after = link
  }
}
