-- Every claim asks when the latest breaker changed, so that what a person holds is held from that moment on.
create index breakers_since on breakers (since) where state <> 'closed';
