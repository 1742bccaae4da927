// Preloaded into a process of the product (`node --import`): its wall clock is CLOCK_SKEW_MS off, as on a machine whose
// clock is wrong. Its monotonic clock goes on as it did.
const skewMs = Number(process.env.CLOCK_SKEW_MS)
const TrueDate = Date
const nowMs = (): number => TrueDate.now() + skewMs

globalThis.Date = new Proxy(TrueDate, {
  construct: (target, given, maker) => Reflect.construct(target, given.length === 0 ? [nowMs()] : given, maker) as Date,
  get: (target, name) => (name === 'now' ? nowMs : Reflect.get(target, name)) as unknown,
})
const timeOrigin = performance.timeOrigin + skewMs
Object.defineProperty(performance, 'timeOrigin', { get: () => timeOrigin })
const skew = Temporal.Duration.from({ milliseconds: skewMs })
const trueInstant = Temporal.Now.instant.bind(Temporal.Now)
Temporal.Now.instant = () => trueInstant().add(skew)
Temporal.Now.zonedDateTimeISO = (zone = Temporal.Now.timeZoneId()) => Temporal.Now.instant().toZonedDateTimeISO(zone)
