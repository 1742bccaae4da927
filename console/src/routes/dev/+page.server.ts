export const load = () => ({ me: { user: { id: 'usr_1', email: 'ada@acme.example', name: 'Ada Byron' }, tenants: [] } })
