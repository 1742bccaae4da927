package main

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// peer is River at its best: COPY to insert, a short poll as in its own benchmark, and without the GIN indexes that
// nothing here reads.
type peer struct {
	pool    *pgxpool.Pool
	running *river.Client[pgx.Tx]
}

const withoutGin = "drop index if exists river_job_args_index; drop index if exists river_job_metadata_index"

func open(ctx context.Context, databaseURL string) (*peer, error) {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(ctx, config)
	return &peer{pool: pool}, err
}

func (p *peer) reset(ctx context.Context) error {
	if p.running != nil {
		if err := p.running.Stop(ctx); err != nil {
			return err
		}
		p.running = nil
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(p.pool), nil)
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	for _, statement := range []string{withoutGin, "truncate river_job", "checkpoint"} {
		if _, err := p.pool.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (p *peer) load(ctx context.Context, count int, url string) error {
	inserter, err := p.client(nil)
	if err != nil {
		return err
	}
	const batch = 5_000
	for first := 0; first < count; first += batch {
		if err := insert(ctx, inserter, first, min(batch, count-first), url, nil); err != nil {
			return err
		}
	}
	_, err = p.pool.Exec(ctx, "vacuum analyze river_job")
	return err
}

func (p *peer) drain(ctx context.Context, count int, onWarm func()) error {
	var done atomic.Int64
	last := make(chan struct{})
	err := p.start(ctx, 500, func() {
		switch done.Add(1) {
		case int64(count / 10):
			onWarm()
		case int64(count):
			close(last)
		}
	})
	if err == nil {
		<-last
	}
	return err
}

func (p *peer) create(ctx context.Context, seconds float64, url string) (int, error) {
	inserter, err := p.client(nil)
	if err != nil {
		return 0, err
	}
	const batch = 1_000
	deadline := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	var stored atomic.Int64
	var failure atomic.Value
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for time.Now().Before(deadline) && failure.Load() == nil {
				if err := insert(ctx, inserter, int(stored.Load()), batch, url, nil); err != nil {
					failure.Store(err)
					return
				}
				stored.Add(batch)
			}
		})
	}
	group.Wait()
	if err, failed := failure.Load().(error); failed {
		return 0, err
	}
	return int(stored.Load()), nil
}

func (p *peer) work(ctx context.Context) error { return p.start(ctx, 200, func() {}) }

func (p *peer) schedule(ctx context.Context, dues []int64, url string) error {
	const batch = 5_000
	for first := 0; first < len(dues); first += batch {
		if err := insert(ctx, p.running, first, min(batch, len(dues)-first), url, dues); err != nil {
			return err
		}
	}
	return nil
}

// start works with that many goroutines until the next reset; each call that was answered is told to onDone.
func (p *peer) start(ctx context.Context, workers int, onDone func()) error {
	bundle := river.NewWorkers()
	river.AddWorker(bundle, &worker{onDone: onDone})
	client, err := p.client(&river.Config{
		Workers:           bundle,
		FetchCooldown:     2 * time.Millisecond,
		FetchPollInterval: 20 * time.Millisecond,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
	})
	if err != nil {
		return err
	}
	p.running = client
	return client.Start(ctx)
}

func (p *peer) client(config *river.Config) (*river.Client[pgx.Tx], error) {
	if config == nil {
		config = &river.Config{}
	}
	config.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	return river.NewClient(riverpgxv5.New(p.pool), config)
}

func insert(ctx context.Context, client *river.Client[pgx.Tx], first, size int, url string, dues []int64) error {
	jobs := make([]river.InsertManyParams, size)
	for index := range jobs {
		made, err := makeCall(first+index, url)
		if err != nil {
			return err
		}
		if dues != nil {
			due := time.UnixMilli(dues[first+index])
			made = made.dueAt(due)
			jobs[index].InsertOpts = &river.InsertOpts{ScheduledAt: due}
		}
		jobs[index].Args = made
	}
	_, err := client.InsertManyFast(ctx, jobs)
	return err
}

type worker struct {
	river.WorkerDefaults[call]
	onDone func()
}

func (w *worker) Work(_ context.Context, job *river.Job[call]) error {
	if err := perform(job.Args); err != nil {
		return err
	}
	w.onDone()
	return nil
}

// Timeout says that there is none: a timer a job would only cost.
func (w *worker) Timeout(*river.Job[call]) time.Duration { return -1 }
